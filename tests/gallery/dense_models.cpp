// Layers that are fully connected.
#include <torch/torch.h>

#include "gallery.h"

namespace belfry::testing {
namespace {

namespace nn = torch::nn;

const TensorSpec kTenNumbers{.shape = {-1, 10}};

TensorDict ten_numbers(int64_t rows) { return {{"x", some_floats({rows, 10})}}; }
Labels one_of_three(const Features& features) { return features["x"].narrow(1, 0, 3).argmax(1); }

// Logits of classes to a spec, as most classifiers here end.
EstimatorSpec classifier_spec(const at::Tensor& logits, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  const Predictions predictions{{"probabilities", logits.softmax(1)}, {"class_ids", logits.argmax(1)}};
  if (mode == ModeKeys::kPredict) return EstimatorSpec::predict(predictions);
  const at::Tensor loss = losses::sparse_softmax_cross_entropy(labels.tensor(), logits, ctx);
  if (mode == ModeKeys::kEval) {
    return EstimatorSpec::eval(loss, {{"accuracy", metrics::accuracy(labels.tensor(), predictions["class_ids"])}});
  }
  return EstimatorSpec::train(loss, Adam({.learning_rate = 0.01}).minimize(loss, ctx));
}

struct PerceptronImpl : nn::Module {
  at::Tensor forward(const at::Tensor& x) { return logits(torch::tanh(second(torch::relu(first(x))))); }

  nn::Linear first{register_module("first", nn::Linear(10, 16))};
  nn::Linear second{register_module("second", nn::Linear(16, 16))};
  nn::Linear logits{register_module("logits", nn::Linear(16, 3))};
};
TORCH_MODULE(Perceptron);

EstimatorSpec perceptron_fn(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  auto net = ctx.module<Perceptron>("net");
  return classifier_spec(net(features["x"]), labels, mode, ctx);
}

EstimatorSpec normalized_perceptron_fn(const Features& features, const Labels& labels, ModeKeys mode,
                                       ModelContext& ctx) {
  auto net = ctx.module("net", [] {
    return nn::Sequential(nn::Linear(10, 16), nn::BatchNorm1d(16), nn::ReLU(), nn::Dropout(0.3), nn::Linear(16, 16),
                          nn::BatchNorm1d(16), nn::ELU(), nn::Dropout(0.3), nn::Linear(16, 3));
  });
  return classifier_spec(net->forward(features["x"]), labels, mode, ctx);
}

Estimator canned_classifier(RunConfig config) {
  const auto x = feature_column::numeric_column(
      "x", {.shape = {10}, .normalizer_fn = [](const at::Tensor& numbers) { return (numbers - 1) / 3; }});
  return DNNClassifier({.hidden_units = {16, 8},
                        .feature_columns = {x},
                        .n_classes = 3,
                        .label_vocabulary = {"low", "middle", "high"},
                        .dropout = 0.2,
                        .batch_norm = true},
                       std::move(config));
}

Labels named_class(const Features& features) {
  const at::Tensor ids = features["x"].narrow(1, 0, 3).argmax(1);
  std::vector<std::string> names;
  for (int64_t i = 0; i < ids.size(0); ++i) {
    names.push_back(std::vector<std::string>{"low", "middle", "high"}[ids[i].item<int64_t>()]);
  }
  return StringTensor(names);
}

// Weights by themselves, without a module.
EstimatorSpec logistic_regression_fn(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  const at::Tensor weights = ctx.variable("weights", [] { return torch::zeros({10, 1}); });
  const at::Tensor bias = ctx.variable("bias", [] { return torch::zeros({1}); });
  const at::Tensor logits = torch::mm(features["x"], weights) + bias;
  const at::Tensor probability = logits.sigmoid();
  const Predictions predictions{{"probability", probability}, {"is_positive", probability > 0.5}};
  if (mode == ModeKeys::kPredict) return EstimatorSpec::predict(predictions);
  const at::Tensor loss = losses::sigmoid_cross_entropy(labels.tensor(), logits, ctx);
  if (mode == ModeKeys::kEval) return EstimatorSpec::eval(loss);
  return EstimatorSpec::train(loss, Ftrl({.learning_rate = 0.1}).minimize(loss, ctx));
}

Labels is_positive(const Features& features) { return features["x"].sum(1, true).gt(0).to(at::kFloat); }

}  // namespace

GalleryModels dense_models() {
  const auto receiver = build_raw_serving_input_receiver_fn({{"x", kTenNumbers}});
  return {
      {.name = "perceptron",
       .estimator = estimator_of(perceptron_fn),
       .request = ten_numbers,
       .labels = one_of_three,
       .receiver = receiver},
      {.name = "perceptron_with_batch_norm_and_dropout",
       .estimator = estimator_of(normalized_perceptron_fn),
       .request = ten_numbers,
       .labels = one_of_three,
       .receiver = receiver},
      {.name = "dnn_classifier",
       .estimator = canned_classifier,
       .request = ten_numbers,
       .labels = named_class,
       .receiver = receiver,
       .predictions = {{"serving_default/scores", "probabilities"},
                       {"serving_default/classes", "all_classes"},
                       {"classification/scores", "probabilities"},
                       {"classification/classes", "all_classes"}}},
      {.name = "logistic_regression",
       .estimator = estimator_of(logistic_regression_fn),
       .request = ten_numbers,
       .labels = is_positive,
       .receiver = receiver},
  };
}

}  // namespace belfry::testing
