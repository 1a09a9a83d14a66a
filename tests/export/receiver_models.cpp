#include "receiver_models.h"

#include <torch/torch.h>

#include "belfry/core/example.pb.h"
#include "core/file_system.h"

namespace belfry::testing {
namespace {

const std::vector<std::string> kColors{"red", "green", "größe", "", "blue"};

at::Tensor embed(const NamedTensors& variables, const char* name, const at::Tensor& ids) {
  for (const auto& [other, tensor] : variables) {
    if (other == name) return at::embedding(tensor, ids).sum(1);
  }
  return {};
}

at::Tensor random(std::vector<int64_t> shape) { return at::randn(shape); }

StringTensor strings_of(int64_t rows, int64_t columns, int64_t seed) {
  static const std::vector<std::string> kWords{"red", "green", "größe", "", "mauve", "x\n y", "blue", "Red"};
  std::vector<std::string> words;
  for (int64_t i = 0; i < rows * columns; ++i) words.push_back(kWords[(i * 5 + seed) % kWords.size()]);
  return {words, {rows, columns}};
}

}  // namespace

ReceiverModel raw_strings_model() {
  const NamedTensors variables{{"embedding/color", random({8, 3})},
                               {"embedding/shape", random({50, 3})},
                               {"embedding/cross", random({100, 3})},
                               {"embedding/size", random({4, 3})},
                               {"output/weight", random({2, 3})}};
  const auto function = [variables](const Features& features) {
    at::Tensor sum = embed(variables, "embedding/color", features["color_id"]) +
                     embed(variables, "embedding/shape", features["shape_id"]) +
                     embed(variables, "embedding/cross", features["cross_id"]) +
                     embed(variables, "embedding/size", features["size_id"]) + features["weight"].sum(1, true);
    return ExportOutputs{{kServingDefault, PredictOutput{{{"logits", at::linear(sum, variables[4].second)}}}}};
  };
  const auto transform = [](ReceiverBuilder& receiver) {
    GraphBuilder& graph = receiver.graph();
    const GraphValue color = receiver.feature("color");
    const GraphValue shape = receiver.feature("shape");
    const Vocabulary colors(kColors, {.num_oov_buckets = 3});
    receiver.set_feature("color_id", graph.vocabulary_lookup(color, colors));
    receiver.set_feature("shape_id", graph.hash_bucket(shape, 50));
    receiver.set_feature("cross_id", graph.cross_hash({color, shape, receiver.feature("number")}, 100));
    receiver.set_feature("size_id", graph.bucketize(receiver.feature("size"), {-0.5, 0, 1}));
    for (const char* name : {"color", "shape", "number", "size"}) receiver.erase_feature(name);
  };
  ReceiverModel model{
      "raw_strings",
      {.function = function,
       .receiver = build_raw_serving_input_receiver_fn({{"color", {.dtype = kString, .shape = {-1, 1}}},
                                                        {"shape", {.dtype = kString, .shape = {-1, 2}}},
                                                        {"number", {.dtype = at::kLong, .shape = {-1, 1}}},
                                                        {"size", {.shape = {-1, 3}}},
                                                        {"weight", {.shape = {-1, 2}}}},
                                                       transform)(),
       .variables = variables},
      {}};
  for (const int64_t rows : {1, 2, 7, 33}) {
    model.requests.push_back({{"color", strings_of(rows, 1, rows)},
                              {"shape", strings_of(rows, 2, 3)},
                              {"number", at::randint(-5, 1000, {rows, 1}, at::kLong)},
                              {"size", at::randn({rows, 3})},
                              {"weight", at::randn({rows, 2})}});
  }
  return model;
}

ReceiverModel examples_model(const std::string& folder) {
  const std::string file = join_path(folder, "colors.txt");
  write_file_atomically(posix_file_system(), file, "red\ngreen\ngröße\nblue\n");
  const NamedTensors variables{
      {"words", random({7, 3})}, {"dense/weight", random({3, 4})}, {"dense/bias", random({3})}};
  const auto function = [variables](const Features& features) {
    const at::Tensor logits = at::linear(features["x"], variables[1].second, variables[2].second) +
                              embed(variables, "words", features["word_ids"]) + features["age"].to(at::kFloat) * 0.01;
    const at::Tensor scores = logits.softmax(1);
    const at::Tensor all = at::arange(3).expand({logits.size(0), 3});
    return ExportOutputs{{kServingDefault, ClassificationOutput{scores, all, {"low", "mid", "high"}}},
                         {"regression", RegressionOutput{logits.select(1, 0)}},
                         {"predict", PredictOutput{{{"logits", logits}, {"class", logits.argmax(1)}},
                                                   {{"class", {"low", "mid", "high"}}}}}};
  };
  const auto transform = [file](ReceiverBuilder& receiver) {
    const auto words = Vocabulary::from_file(file, posix_file_system(), {.num_oov_buckets = 3});
    receiver.set_feature("word_ids", receiver.graph().vocabulary_lookup(receiver.feature("words"), words));
    receiver.erase_feature("words");
  };
  const FeatureSpecs specs{
      {"x", FixedLenFeature{.shape = {4}}},
      {"words", VarLenFeature{.dtype = kString, .length = 3, .padding = StringTensor({"red"})}},
      {"age", FixedLenFeature{.dtype = at::kLong, .shape = {1}, .default_value = at::tensor({40}, at::kLong)}}};
  ReceiverModel model{"examples",
                      {.function = function,
                       .receiver = build_parsing_serving_input_receiver_fn(
                           specs, {.transform = transform, .ranges = {{"age", {0, 100}}}})(),
                       .variables = variables},
                      {}};
  for (const int64_t rows : {1, 2, 7, 33}) {
    std::vector<std::string> examples;
    const StringTensor words = strings_of(rows, 5, rows);
    for (int64_t row = 0; row < rows; ++row) {
      ExampleWriter example;
      const at::Tensor x = at::randn({4});
      example.floats("x", {x.const_data_ptr<float>(), x.const_data_ptr<float>() + 4});
      const int64_t count = row % 6;  // from none to more than the spec's
      if (count > 0) example.strings("words", {words.begin() + row * 5, words.begin() + row * 5 + count - 1});
      if (row % 3 != 1) example.integers("age", {row});
      examples.push_back(example.bytes());
    }
    model.requests.push_back({{kExamples, StringTensor(examples)}});
  }
  return model;
}

ReceiverModel alternative_model() {
  const NamedTensors variables{{"weight", random({1, 2})}};
  const auto function = [variables](const Features& features) {
    return ExportOutputs{{kServingDefault, RegressionOutput{at::linear(features["x"], variables[0].second)}}};
  };
  const auto transform = [](ReceiverBuilder& receiver) {
    receiver.add_alternative("tensors", {{"x", receiver.feature("x")}});
  };
  return {"alternative",
          {.function = function,
           .receiver = build_parsing_serving_input_receiver_fn({{"x", FixedLenFeature{.shape = {2}}}},
                                                               {.transform = transform})(),
           .variables = variables},
          {{{kExamples, StringTensor({ExampleWriter().floats("x", {1, 2}).bytes()})}}}};
}

ExampleWriter& ExampleWriter::floats(const std::string& key, const std::vector<float>& values) {
  entries_.push_back({key, values, {}, {}, 0});
  return *this;
}

ExampleWriter& ExampleWriter::integers(const std::string& key, const std::vector<int64_t>& values) {
  entries_.push_back({key, {}, values, {}, 1});
  return *this;
}

ExampleWriter& ExampleWriter::strings(const std::string& key, const std::vector<std::string>& values) {
  entries_.push_back({key, {}, {}, values, 2});
  return *this;
}

std::string ExampleWriter::bytes() const {
  proto::Example example;
  for (const Entry& entry : entries_) {
    proto::Feature& feature = (*example.mutable_features()->mutable_feature())[entry.key];
    if (entry.kind == 0) *feature.mutable_float_list()->mutable_value() = {entry.floats.begin(), entry.floats.end()};
    if (entry.kind == 1)
      *feature.mutable_int64_list()->mutable_value() = {entry.integers.begin(), entry.integers.end()};
    if (entry.kind == 2) *feature.mutable_bytes_list()->mutable_value() = {entry.strings.begin(), entry.strings.end()};
  }
  return example.SerializeAsString();
}

}  // namespace belfry::testing
