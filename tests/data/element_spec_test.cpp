#include "data/element_spec.h"

#include <fstream>

#include "tests/data/support.h"
#include "tests/support/temporary_directory.h"

using namespace belfry;
using namespace belfry::testing;

namespace {

Dataset mixed() {
  return Dataset::from_tensors({{"x", at::zeros({3, 2, 4})}, {"name", StringTensor({"a", "b", "c"})}},
                               at::zeros({3}, at::kLong));
}

}  // namespace

TEST_CASE("tensors tell what their rows are", "[data][S14]") {
  const ElementSpec wanted{.features = {{"x", {at::kFloat, {2, 4}}}, {"name", {}}}, .labels = {{"", {at::kLong, {}}}}};
  CHECK(mixed().element_spec() == wanted);
  CHECK(mixed().take(2).skip(1).shard(1, 0).shuffle({.seed = 1}).repeat().prefetch(1).element_spec() == wanted);
  CHECK(mixed().shard(kShardHint, kShardHint).element_spec() == wanted);
}

TEST_CASE("the rows of a batch are known where none is left out", "[data][S14]") {
  const ElementSpec unknown{.features = {{"x", {at::kFloat, {kUnknownSize, 2, 4}}}, {"name", {{}, {kUnknownSize}}}},
                            .labels = {{"", {at::kLong, {kUnknownSize}}}}};
  CHECK(mixed().batch(2).element_spec() == unknown);
  CHECK(mixed().batch(2).auto_shard(2, 0).element_spec() == unknown);
  const ElementSpec known{.features = {{"x", {at::kFloat, {2, 2, 4}}}, {"name", {{}, {2}}}},
                          .labels = {{"", {at::kLong, {2}}}}};
  CHECK(mixed().batch(2, {.drop_remainder = true}).element_spec() == known);
}

TEST_CASE("a spec holds for the elements", "[data][S14]") {
  const TemporaryDirectory folder;
  const std::string csv = folder.file("a.csv");
  std::ofstream(csv) << "a,b,y\n1.5,x,1\n2.5,y,2\n";
  for (const Dataset& data : {mixed().batch(3, {.drop_remainder = true}), Dataset::from_csv(csv, {.label = "y"}),
                              Dataset::from_text_lines(csv).batch(2, {.drop_remainder = true}),
                              Dataset::from_numpy(test_data("data/numpy/examples.npz"))}) {
    INFO(data.describe());
    const std::optional<ElementSpec> spec = data.element_spec();
    REQUIRE(spec);
    const std::optional<Batch> element = data.iterate().next();
    REQUIRE(element);
    REQUIRE(spec->features.size() == element->features.size());
    REQUIRE(spec->labels.size() == element->labels.size());
    for (const auto& [name, entry] : spec->features) {
      const Value& value = element->features.at(name);
      CHECK(entry.shape == value.sizes());
      CHECK(entry.dtype.has_value() == value.is_tensor());
      if (entry.dtype) CHECK(entry.dtype == value.tensor().scalar_type());
    }
  }
}

TEST_CASE("what a function makes is not known before", "[data][S14]") {
  CHECK_FALSE(Dataset::from_generator(counting(3)).element_spec());
  CHECK_FALSE(Dataset::from_generator(counting(3)).batch(2, {.drop_remainder = true}).element_spec());
  const auto same = [](Batch element) { return element; };
  CHECK_FALSE(mixed().map(same).element_spec());
  CHECK_FALSE(mixed().map(same).take(1).batch(2).element_spec());
  CHECK_FALSE(mixed().batch(2).map(same).element_spec());
}
