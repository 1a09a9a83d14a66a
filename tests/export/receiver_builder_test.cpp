#include "export/receiver_builder.h"

#include <ATen/ATen.h>

#include "export/internal/receiver_json.h"
#include "export/internal/receiver_program.h"
#include "receiver_models.h"
#include "tests/support/check_fails.h"
#include "tests/support/temporary_directory.h"
#include "tests/testing.h"

using namespace belfry;
using namespace belfry::testing;

namespace {

const TensorSpec kWord{.dtype = kString, .shape = {-1, 1}};

TensorSpec spec_of(const ServingInputReceiver& receiver, const std::string& name) {
  for (const ServingInput& input : receiver.inputs()) {
    if (input.name == name) return input.spec;
  }
  return {};
}

ServingInputReceiver built(const ReceiverTransform& describe) {
  ReceiverBuilder receiver;
  describe(receiver);
  return std::move(receiver).build();
}

}  // namespace

TEST_CASE("Ids are tried in the range that their operation gives", "[export][receiver]") {
  const ServingInputReceiver receiver = built([](ReceiverBuilder& builder) {
    GraphBuilder& graph = builder.graph();
    const GraphValue word = builder.input("word", kWord);
    const GraphValue number = builder.input("number", {.shape = {-1, 1}});
    const auto lookup = [&](const VocabularyOptions& options) {
      return graph.vocabulary_lookup(word, Vocabulary({"a", "b"}, options));
    };
    builder.set_feature("hash", graph.hash_bucket(word, 7));
    builder.set_feature("buckets", lookup({.num_oov_buckets = 3}));
    builder.set_feature("missing", lookup({}));
    builder.set_feature("default", lookup({.default_value = 5}));
    builder.set_feature("cross", graph.cross_hash({word, word}, 11));
    builder.set_feature("bucketized", graph.bucketize(number, {0, 1}));
    builder.set_feature("flat", graph.squeeze(graph.hash_bucket(word, 9), {1}));
    builder.set_feature("one_hot", graph.one_hot(graph.hash_bucket(word, 9), 9));
    builder.set_feature("joined", graph.concatenate({graph.hash_bucket(word, 4), lookup({})}, 1));
    builder.set_feature("narrow", graph.hash_bucket(word, 7), 2, 3);
  });
  const auto range = [&](const char* name) {
    const TensorSpec spec = spec_of(receiver, name);
    return std::pair(spec.low, spec.high);
  };
  CHECK(range("hash") == std::pair<int64_t, int64_t>(0, 7));
  CHECK(range("buckets") == std::pair<int64_t, int64_t>(0, 5));
  CHECK(range("missing") == std::pair<int64_t, int64_t>(-1, 2));
  CHECK(range("default") == std::pair<int64_t, int64_t>(0, 6));
  CHECK(range("cross") == std::pair<int64_t, int64_t>(0, 11));
  CHECK(range("bucketized") == std::pair<int64_t, int64_t>(0, 3));
  CHECK(range("flat") == std::pair<int64_t, int64_t>(0, 9));
  CHECK(range("one_hot") == std::pair<int64_t, int64_t>(0, 2));
  CHECK(range("joined") == std::pair<int64_t, int64_t>(-1, 4));
  CHECK(range("narrow") == std::pair<int64_t, int64_t>(2, 3));
  CHECK(spec_of(receiver, "flat").shape == std::vector<int64_t>{-1});
}

TEST_CASE("A receiver that gives the model no numbers is refused", "[export][receiver][E62]") {
  const auto strings = [](ReceiverBuilder& builder) { builder.set_feature("word", builder.input("word", kWord)); };
  CHECK_FAILS(built(strings), ErrorKind::kInvalidArgument, "'word' is strings");
  CHECK_FAILS(built([](ReceiverBuilder&) {}), ErrorKind::kInvalidArgument, "no features");
  const auto computes = [](ReceiverBuilder& builder) {
    const GraphValue x = builder.input("x", {.shape = {-1, 2}});
    builder.set_feature("y", builder.graph().unary(Operation::kExp, x));
  };
  CHECK_FAILS(built(computes), ErrorKind::kUnimplemented, "exp is no work on strings");
  const auto twice = [](ReceiverBuilder& builder) {
    builder.input("x", {.shape = {-1, 2}});
    builder.input("x", {.shape = {-1, 2}});
  };
  CHECK_FAILS(built(twice), ErrorKind::kAlreadyExists, "'x'");
  const auto no_strings = [](ReceiverBuilder& builder) {
    builder.graph().hash_bucket(builder.input("x", {.shape = {-1, 2}}), 3);
  };
  CHECK_FAILS(built(no_strings), ErrorKind::kInvalidArgument, "no strings");
  const auto unknown = [](ReceiverBuilder& builder) { builder.feature("none"); };
  CHECK_FAILS(built(unknown), ErrorKind::kNotFound, "'none'");
  CHECK_FAILS(build_raw_serving_input_receiver_fn({{"word", kWord}}), ErrorKind::kInvalidArgument, "ReceiverBuilder");
  CHECK_FAILS(build_parsing_serving_input_receiver_fn({{"x", FixedLenFeature{.dtype = at::kInt}}}),
              ErrorKind::kInvalidArgument, "'x'");
  CHECK_FAILS(build_parsing_serving_input_receiver_fn({{"x", FixedLenFeature{}}}, {.ranges = {{"z", {0, 3}}}}),
              ErrorKind::kInvalidArgument, "'z'");
  const auto words = build_parsing_serving_input_receiver_fn({{"w", FixedLenFeature{.dtype = kString}}});
  CHECK_FAILS(words(), ErrorKind::kInvalidArgument, "'w' is strings");
}

TEST_CASE("A receiver computes what its eager functions do", "[export][receiver]") {
  const ServingInputReceiver receiver = raw_strings_model().request.receiver;
  const internal::ReceiverProgram program(*receiver.graph());
  const StringTensor color({"red", "mauve"}, {2, 1});
  const StringTensor shape({"a", "b", "c", "d"}, {2, 2});
  const at::Tensor number = at::tensor({3, -4}, at::kLong).reshape({2, 1});
  const at::Tensor size = at::tensor({-1.0F, -0.5F, 0.5F, 1.0F, 2.0F, 0.0F}).reshape({2, 3});
  const at::Tensor weight = at::randn({2, 2});
  const TensorDict features =
      program.run({{"color", color}, {"shape", shape}, {"number", number}, {"size", size}, {"weight", weight}});
  CHECK(features["color_id"][0].item<int64_t>() == 0);
  CHECK(features["color_id"][1].item<int64_t>() >= 5);
  CHECK(features["size_id"].equal(at::tensor({0, 1, 2, 3, 3, 2}, at::kLong).reshape({2, 3})));
  CHECK(features["cross_id"].sizes() == at::IntArrayRef({2, 2}));
  CHECK(features["weight"].equal(weight));
}

TEST_CASE("A receiver is read back from its description", "[export][receiver]") {
  const TemporaryDirectory folder;
  for (const ReceiverModel& model : {raw_strings_model(), examples_model(folder.path()), alternative_model()}) {
    INFO(model.name);
    const Graph& graph = *model.request.receiver.graph();
    const Graph again = internal::receiver_from_json(internal::receiver_json(graph));
    std::string wanted = to_string(graph);
    const size_t file = wanted.find("file='colors.txt'");  // its words are written, and stand for it
    if (file != std::string::npos) wanted.replace(file, 17, "file=''");
    CHECK(to_string(again) == wanted);
    const internal::ReceiverProgram program(graph);
    const internal::ReceiverProgram copy(again);
    for (const TensorDict& request : model.requests) {
      const TensorDict features = program.run(request);
      const TensorDict got = copy.run(request);
      for (const auto& [name, value] : features) CHECK(got[name].equal(value.tensor()));
    }
  }
}

TEST_CASE("Strings of any bytes pass through a description", "[export][receiver]") {
  ReceiverBuilder builder;
  const std::string bytes("\xff\x00z", 3);
  const GraphValue word = builder.input("word", kWord);
  builder.set_feature("id", builder.graph().vocabulary_lookup(word, Vocabulary({bytes, "größe"})));
  const ServingInputReceiver receiver = std::move(builder).build();
  const internal::ReceiverProgram copy(internal::receiver_from_json(internal::receiver_json(*receiver.graph())));
  const TensorDict features = copy.run({{"word", StringTensor(std::vector<std::string>{"größe", bytes}, {2, 1})}});
  CHECK(features["id"].flatten().equal(at::tensor({1, 0}, at::kLong)));
}

TEST_CASE("A description that is damaged is refused", "[export][receiver]") {
  const std::string whole = internal::receiver_json(*raw_strings_model().request.receiver.graph());
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = whole;
    REQUIRE(text.find(from) != std::string::npos);
    return text.replace(text.find(from), from.size(), to);
  };
  CHECK_FAILS(internal::receiver_from_json(whole.substr(0, whole.size() / 2)), ErrorKind::kDataLoss, "not whole");
  CHECK_FAILS(internal::receiver_from_json(changed("hash_bucket", "hash_pocket")), ErrorKind::kDataLoss, "hash_pocket");
  CHECK_FAILS(internal::receiver_from_json(changed("\"value\":", "\"value\":9")), ErrorKind::kDataLoss, "not whole");
  CHECK_FAILS(internal::receiver_from_json("[]"), ErrorKind::kDataLoss, "not whole");
}

TEST_CASE("A description with numbers that do not fit its graph is refused", "[export][receiver]") {
  ReceiverBuilder builder;
  const GraphValue word = builder.input("word", kWord);
  GraphBuilder& graph = builder.graph();
  builder.set_feature("flat", graph.squeeze(graph.hash_bucket(word, 9), {1}));
  builder.set_feature("hot", graph.one_hot(graph.hash_bucket(word, 9), 9));
  const std::string whole = internal::receiver_json(*std::move(builder).build().graph());
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = whole;
    REQUIRE(text.find(from) != std::string::npos);
    return text.replace(text.find(from), from.size(), to);
  };
  CHECK_NOTHROW(internal::receiver_from_json(whole));
  const auto damage = ErrorKind::kDataLoss;
  CHECK_FAILS(internal::receiver_from_json(changed(R"("axes":{"integers":[1]})", R"("axes":{"integers":[99]})")),
              damage, "99");
  CHECK_FAILS(internal::receiver_from_json(changed(R"("depth":{"integer":9})", R"("depth":{"integer":999999999})")),
              damage, "999999999");
  CHECK_FAILS(internal::receiver_from_json(changed(R"("inputs":[0])", R"("inputs":[])")), damage, "not whole");
  CHECK_FAILS(internal::receiver_from_json(changed(R"("buckets":{"integer":9})", R"("buckets":{"text":"9"})")), damage,
              "buckets");
  CHECK_FAILS(internal::receiver_from_json(changed(R"("operation":"squeeze")", R"("operation":"exp")")), damage, "exp");
}

TEST_CASE("An alternative has to give all that the features need", "[export][receiver][E62]") {
  const auto with = [](const std::function<void(ReceiverBuilder&, GraphValue)>& describe) {
    return built([&](ReceiverBuilder& builder) {
      const GraphValue word = builder.input("word", kWord);
      builder.set_feature("id", builder.graph().hash_bucket(word, 5));
      builder.set_feature("x", builder.input("x", {.shape = {-1, 2}}));
      describe(builder, word);
    });
  };
  const auto invalid = ErrorKind::kInvalidArgument;
  CHECK_NOTHROW(with([](ReceiverBuilder& builder, GraphValue) {
    builder.add_alternative("ids", {{"id", builder.feature("id")}, {"x", builder.feature("x")}});
  }));
  CHECK_FAILS(with([](ReceiverBuilder& builder, GraphValue word) {
                builder.add_alternative("words", {{"w", word}});
              }),
              invalid, "'x'");
  CHECK_FAILS(
      with([](ReceiverBuilder& builder, GraphValue word) {
        builder.add_alternative("ids", {{"id", builder.feature("id")}, {"x", builder.feature("x")}, {"w", word}});
      }),
      invalid, "no feature is computed from");
  CHECK_FAILS(with([](ReceiverBuilder& builder, GraphValue word) {
                builder.add_alternative("words", {{"w", word}, {"x", builder.feature("x")}});
                builder.add_alternative("words", {{"w", word}, {"x", builder.feature("x")}});
              }),
              ErrorKind::kAlreadyExists, "'words'");
}
