#include "data/parse_example.h"

#include "belfry/core/example.pb.h"
#include "tests/support/check_fails.h"
#include "tests/testing.h"

using namespace belfry;

namespace {

proto::Feature floats(std::initializer_list<float> values) {
  proto::Feature feature;
  feature.mutable_float_list()->mutable_value()->Add(values.begin(), values.end());
  return feature;
}

proto::Feature longs(std::initializer_list<int64_t> values) {
  proto::Feature feature;
  feature.mutable_int64_list()->mutable_value()->Add(values.begin(), values.end());
  return feature;
}

proto::Feature strings(std::initializer_list<const char*> values) {
  proto::Feature feature;
  feature.mutable_bytes_list();
  for (const char* value : values) feature.mutable_bytes_list()->add_value(value);
  return feature;
}

std::string example(const std::vector<std::pair<std::string, proto::Feature>>& features) {
  proto::Example message;
  for (const auto& [name, feature] : features) (*message.mutable_features()->mutable_feature())[name] = feature;
  return message.SerializeAsString();
}

StringTensor rows(std::vector<std::string> examples) { return {std::move(examples)}; }

}  // namespace

TEST_CASE("examples become one tensor a feature, in the order of the specs", "[data]") {
  const TensorDict parsed = parse_example(
      rows({example({{"x", floats({1, 2})}, {"id", longs({-5})}, {"city", strings({"Bonn"})}, {"other", longs({1})}}),
            example({{"x", floats({3, 4})}, {"id", longs({6})}, {"city", strings({""})}})}),
      {{"id", FixedLenFeature{.dtype = at::kLong}},
       {"x", FixedLenFeature{.shape = {1, 2}}},
       {"city", FixedLenFeature{.dtype = kString, .shape = {1}}}});
  CHECK(parsed.names() == std::vector<std::string>{"id", "x", "city"});
  CHECK(at::equal(parsed["id"], torch::tensor({-5, 6}, at::kLong)));
  CHECK(at::equal(parsed["x"], torch::tensor({{{1.0F, 2.0F}}, {{3.0F, 4.0F}}})));
  CHECK(parsed.strings("city") == StringTensor({"Bonn", ""}).reshape({2, 1}));
}

TEST_CASE("a feature that is lacking gets its default, or is an error", "[data]") {
  const std::string without = example({{"other", floats({1})}});
  const std::string no_list = example({{"x", proto::Feature()}});
  const at::Tensor some = torch::tensor({7.0F, 8.0F});
  for (const std::string& bytes : {without, no_list, std::string()}) {
    CHECK(at::equal(parse_example(rows({bytes}), {{"x", FixedLenFeature{.shape = {2}, .default_value = some}}})["x"],
                    some.view({1, 2})));
    CHECK_FAILS(parse_example(rows({example({{"x", floats({1})}}), bytes}), {{"x", FixedLenFeature{}}}),
                ErrorKind::kInvalidArgument, "row 1, feature 'x': is required");
  }
}

// TensorFlow 2.15 does not take an empty list for a feature that is lacking (tests/reference/strings.json).
TEST_CASE("an empty list has the wrong number of values, even where there is a default", "[data]") {
  const FixedLenFeature spec{.default_value = torch::tensor(3.0F)};
  CHECK_FAILS(parse_example(rows({example({{"x", floats({})}})}), {{"x", spec}}), ErrorKind::kInvalidArgument,
              "row 0, feature 'x': has 0 values; 1 were wanted");
}

TEST_CASE("rows of any length are padded or cut", "[data]") {
  const StringTensor examples = rows({example({{"n", longs({1, 2, 3})}, {"s", strings({"a"})}}), example({}),
                                      example({{"n", longs({})}, {"s", strings({"b", "c", "d"})}})});
  const TensorDict parsed = parse_example(
      examples, {{"n", VarLenFeature{.dtype = at::kLong, .length = 2, .padding = torch::tensor({-1}, at::kLong)}},
                 {"s", VarLenFeature{.dtype = kString, .length = 2}}});
  CHECK(at::equal(parsed["n"], torch::tensor({{1, 2}, {-1, -1}, {-1, -1}}, at::kLong)));
  CHECK(parsed.strings("s") == StringTensor({"a", "", "", "", "b", "c"}).reshape({3, 2}));
}

TEST_CASE("no rows give tensors without rows", "[data]") {
  const TensorDict parsed = parse_example(
      StringTensor(), {{"x", FixedLenFeature{.shape = {3}}}, {"s", VarLenFeature{.dtype = kString, .length = 2}}});
  CHECK(parsed["x"].sizes() == at::IntArrayRef{0, 3});
  CHECK(parsed.strings("s").sizes() == std::vector<int64_t>{0, 2});
}

TEST_CASE("an example that does not fit is told by its row and feature", "[data]") {
  const auto check_refused = [](const std::string& bytes, const FeatureSpec& spec, const char* message) {
    CHECK_FAILS(parse_example(rows({example({{"x", floats({1})}}), bytes}), {{"x", spec}}), ErrorKind::kInvalidArgument,
                message);
  };
  const FixedLenFeature one{.default_value = torch::tensor(3.0F)};
  check_refused(example({{"x", floats({1, 2})}}), one, "row 1, feature 'x': has 2 values; 1 were wanted");
  check_refused(example({{"x", longs({1})}}), one, "row 1, feature 'x': holds int64 numbers; float32 numbers");
  check_refused(example({{"x", strings({})}}), one, "row 1, feature 'x': holds strings; float32 numbers");
  check_refused(example({{"x", longs({})}}), VarLenFeature{at::kFloat, 2}, "row 1, feature 'x': holds int64 numbers");
  check_refused("hello", one, "row 1: its 5 bytes are no tf.Example");
  check_refused(example({{"x", floats({1})}}).substr(1), one, "row 1: its");
}

TEST_CASE("what no spec names is not looked at, and the last list of a name counts", "[data]") {
  proto::PartialExample message;
  const auto add = [&](const char* name, const std::string& feature) {
    auto& entry = *message.mutable_features()->add_entry();
    entry.set_name(name);
    entry.set_feature(feature);
  };
  const auto parsed = [&] { return parse_example(rows({message.SerializeAsString()}), {{"x", FixedLenFeature{}}}); };
  add("\xff", floats({9}).SerializeAsString());
  add("other", "hello");
  add("x", longs({1}).SerializeAsString());
  add("x", floats({2}).SerializeAsString());
  add("x", "");
  CHECK(parsed().tensor().item<float>() == 2);
  add("x", "hello");
  CHECK_FAILS(parsed(), ErrorKind::kInvalidArgument, "row 0, feature 'x': its 5 bytes are no list");
}

TEST_CASE("specs and shapes that cannot be right are refused before any example is read", "[data]") {
  CHECK_FAILS(parse_example({"x"}, {}), ErrorKind::kInvalidArgument, "there are none");
  CHECK_FAILS(parse_example({"x"}, {{"x", FixedLenFeature{.dtype = at::kInt}}}), ErrorKind::kInvalidArgument, "Int");
  const StringTensor square = rows({"", "", "", ""}).reshape({2, 2});
  CHECK_FAILS(parse_example(square, {{"x", FixedLenFeature{}}}), ErrorKind::kInvalidArgument, "2 dimensions");
  CHECK_FAILS(parse_example({"", "", ""}, {{"x", VarLenFeature{at::kLong, std::numeric_limits<int64_t>::max() / 2}}}),
              ErrorKind::kInvalidArgument, "3 rows of");
}
