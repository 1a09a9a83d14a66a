// A model_fn of one's own, over two towers: a small network that reads handwritten digits.
//
//   data     examples/data/digits.csv: 1,797 images of 8 x 8 pixels (0 to 16) and the digit
//   command  build/release/examples/010_custom_model_fn examples/data/digits.csv
//   expect   step 1000, an accuracy above 0.95 on rows that it has not seen, and the digits of five of them
#include <belfry.h>
#include <torch/torch.h>

#include <iostream>

using namespace belfry;

namespace {

struct NetImpl : torch::nn::Module {
  NetImpl(int64_t pixels, int64_t digits)
      : hidden(register_module("hidden", torch::nn::Linear(pixels, 128))),
        logits(register_module("logits", torch::nn::Linear(128, digits))) {}

  at::Tensor forward(const at::Tensor& x) { return logits(torch::relu(hidden(x))); }

  torch::nn::Linear hidden;
  torch::nn::Linear logits;
};
TORCH_MODULE(Net);

EstimatorSpec model_fn(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  auto net = ctx.module<Net>("net", 64, 10);
  const at::Tensor logits = net(features["x"]);
  const Predictions predictions{{"class_ids", logits.argmax(1)}, {"probabilities", logits.softmax(1)}};
  if (mode == ModeKeys::kPredict) return EstimatorSpec::predict(predictions);

  const at::Tensor loss = losses::sparse_softmax_cross_entropy(labels.tensor(), logits, ctx);
  if (mode == ModeKeys::kEval) {
    return EstimatorSpec::eval(loss, {{"accuracy", metrics::accuracy(labels.tensor(), predictions["class_ids"])}});
  }
  TowerOptimizer optimizer(Adagrad({.learning_rate = 0.1}));
  return EstimatorSpec::train(loss, optimizer.minimize(loss, ctx));
}

// Pixels are 0 to 16.
Batch scaled(Batch batch) {
  batch.features.set("x", batch.features["x"] / 16);
  return batch;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: " << argv[0] << " digits.csv\n";
    return 2;
  }
  try {
    // One order for good, from which a fifth is held back; the rest is shuffled anew for each pass.
    const Dataset digits =
        Dataset::from_csv(argv[1], {.label = "digit", .matrix = "x", .dtypes = {{"digit", CsvType::kInt64}}})
            .shuffle({.seed = 2026, .reshuffle_each_iteration = false});
    const auto training = [&] { return digits.skip(360).shuffle({.seed = 1}).repeat().batch(128).map(scaled); };
    const auto held_back = [&] { return digits.take(360).batch(128).map(scaled); };

    Estimator estimator(replicate_model_fn(model_fn, {.devices = {"cpu:0", "cpu:1"}}), {.model_dir = ""});
    const TrainResult trained = estimator.train(training, {.steps = 1000});
    const EvalResult result = estimator.evaluate(held_back);
    std::cout << "step " << trained.global_step << ", accuracy " << result["accuracy"] << "\n";
    const auto few = [&] { return digits.take(5).batch(5).map(scaled); };
    for (const Predictions& row : estimator.predict(few)) {
      std::cout << "digit " << row["class_ids"].item<int64_t>() << "\n";
    }
    return result["accuracy"] > 0.95 ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
