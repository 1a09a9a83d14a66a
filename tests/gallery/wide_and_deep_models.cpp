// Words, hashes and crosses beside numbers. Training turns strings into ids by Vocabulary, string_to_hash_bucket_fast
// and sparse_cross_hashed; the served model does so by its receiver.
#include <torch/torch.h>

#include <cmath>

#include "gallery.h"
#include "tests/export/receiver_models.h"

namespace belfry::testing {
namespace {

namespace nn = torch::nn;

constexpr int64_t kTowns = 40;    // buckets
constexpr int64_t kCrosses = 60;  // buckets
constexpr int64_t kUnknownJobs = 2;

const Vocabulary& jobs() {
  static const Vocabulary vocabulary({"baker", "farmer", "nurse", "painter"}, {.num_oov_buckets = kUnknownJobs});
  return vocabulary;
}

struct WideAndDeepImpl : nn::Module {
  WideAndDeepImpl(int64_t jobs, int64_t classes)
      : job(register_module("job", nn::Embedding(jobs, 4))),
        town(register_module("town", nn::Embedding(kTowns, 6))),
        wide(register_module("wide", nn::Embedding(kCrosses, classes))),
        hidden(register_module("hidden", nn::Linear(4 + 6 + 2, 16))),
        deep(register_module("deep", nn::Linear(16, classes))) {}

  at::Tensor forward(const at::Tensor& job_id, const at::Tensor& town_id, const at::Tensor& cross_id,
                     const at::Tensor& numbers) {
    const at::Tensor inputs = torch::cat({job(job_id).flatten(1), town(town_id).flatten(1), numbers}, 1);
    return deep(torch::relu(hidden(inputs))) + wide(cross_id).sum(1);
  }

  nn::Embedding job, town, wide;
  nn::Linear hidden, deep;
};
TORCH_MODULE(WideAndDeep);

EstimatorSpec wide_and_deep_fn(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  auto net = ctx.module<WideAndDeep>("net", jobs().size() + kUnknownJobs, 3);
  const at::Tensor logits = net(features["job_id"], features["town_id"], features["cross_id"], features["numbers"]);
  const Predictions predictions{
      {"logits", logits}, {"probabilities", logits.softmax(1)}, {"first", logits.select(1, 0)}};
  if (mode == ModeKeys::kPredict) {
    const std::vector<std::string> names{"low", "middle", "high"};
    return EstimatorSpec::predict(
        predictions,
        {{kServingDefault, ClassificationOutput{.scores = predictions["probabilities"], .class_names = names}},
         {"regression", RegressionOutput{predictions["first"]}},
         {"predict", PredictOutput{predictions}}});
  }
  const at::Tensor loss = losses::sparse_softmax_cross_entropy(labels.tensor(), logits, ctx);
  if (mode == ModeKeys::kEval) return EstimatorSpec::eval(loss);
  return EstimatorSpec::train(loss, Adagrad({.learning_rate = 0.1}).minimize(loss, ctx));
}

Labels class_of_numbers(const Features& features) { return features["numbers"].sum(1).gt(0).to(at::kLong); }

// As the input_fn of the program does it.
Features with_ids(const TensorDict& raw) {
  const StringTensor& job = raw.strings("job");
  const StringTensor& town = raw.strings("town");
  return {{"job_id", jobs().lookup(job)},
          {"town_id", string_to_hash_bucket_fast(town, kTowns)},
          {"cross_id", sparse_cross_hashed({job, town}, kCrosses)},
          {"numbers", raw["numbers"]}};
}

// The same work as the served model does it.
void add_ids(ReceiverBuilder& receiver) {
  const GraphValue job = receiver.feature("job");
  const GraphValue town = receiver.feature("town");
  receiver.set_feature("job_id", receiver.graph().vocabulary_lookup(job, jobs()));
  receiver.set_feature("town_id", receiver.graph().hash_bucket(town, kTowns));
  receiver.set_feature("cross_id", receiver.graph().cross_hash({job, town}, kCrosses));
  receiver.erase_feature("job");
  receiver.erase_feature("town");
}

StringTensor some_words(int64_t rows, const std::vector<std::string>& words) {
  std::vector<std::string> chosen;
  for (int64_t i = 0; i < rows; ++i) {
    chosen.push_back(words[some_ids({}, static_cast<int64_t>(words.size())).item<int64_t>()]);
  }
  return {chosen, {rows, 1}};
}

TensorDict people(int64_t rows) {
  return {{"job", some_words(rows, {"baker", "nurse", "painter", "juggler", "farmer", ""})},
          {"town", some_words(rows, {"Wien", "Graz", "Köln", "Oslo", "", "a town of a long name"})},
          {"numbers", some_floats({rows, 2})}};
}

// The same people as serialized tf.Examples; some lack their job.
TensorDict people_as_examples(int64_t rows) {
  const TensorDict raw = people(rows);
  std::vector<std::string> examples;
  for (int64_t row = 0; row < rows; ++row) {
    ExampleWriter example;
    example.strings("town", {raw.strings("town")[row]});
    example.floats("numbers", {raw["numbers"][row][0].item<float>(), raw["numbers"][row][1].item<float>()});
    if (row % 4 != 3) example.strings("job", {raw.strings("job")[row]});
    examples.push_back(example.bytes());
  }
  return {{kExamples, StringTensor(examples)}};
}

const FeatureSpecs& people_specs() {
  static const FeatureSpecs specs{
      {"job", FixedLenFeature{.dtype = kString, .shape = {1}, .default_value = StringTensor({"nobody"})}},
      {"town", FixedLenFeature{.dtype = kString, .shape = {1}}},
      {"numbers", FixedLenFeature{.shape = {2}}}};
  return specs;
}

}  // namespace

GalleryModels wide_and_deep_models() {
  const std::map<std::string, std::string> served{{"serving_default/scores", "probabilities"},
                                                  {"regression/outputs", "first"}};
  const std::map<std::string, std::vector<std::string>> classes{{kServingDefault, {"low", "middle", "high"}}};
  return {
      {.name = "wide_and_deep_of_strings",
       .estimator = estimator_of(wide_and_deep_fn),
       .request = people,
       .labels = class_of_numbers,
       .receiver = build_raw_serving_input_receiver_fn({{"job", {.dtype = kString, .shape = {-1, 1}}},
                                                        {"town", {.dtype = kString, .shape = {-1, 1}}},
                                                        {"numbers", {.shape = {-1, 2}}}},
                                                       add_ids),
       .features = with_ids,
       .predictions = served,
       .class_names = classes},
      {.name = "wide_and_deep_of_examples",
       .estimator = estimator_of(wide_and_deep_fn),
       .request = people_as_examples,
       .labels = class_of_numbers,
       .receiver = build_parsing_serving_input_receiver_fn(people_specs(), {.transform = add_ids}),
       .features =
           [](const TensorDict& request) {
             return with_ids(parse_example(request.strings(kExamples), people_specs()));
           },
       .predictions = served,
       .class_names = classes},
  };
}

}  // namespace belfry::testing
