// An Estimator under a MirroredStrategy: a network with batch normalization reads handwritten digits on two devices,
// with the numbers of one, and goes on where it was when the program is run again.
//
//   data     examples/data/digits.csv: 1,797 images of 8 x 8 pixels (0 to 16) and the digit; 360 are held back
//   command  build/release/examples/050_estimator_mirrored examples/data/digits.csv 300
//            and then the same with 600: it trains from step 300 on. Checkpoints are in mirrored_model, and the number
//            of devices may be another one each time.
//   expect   "step 300, of which 300 were made now", an accuracy above 0.95 on rows that it has not seen, five of them,
//            and the folder of an export, which knows nothing of devices
#include <belfry.h>
#include <torch/torch.h>

#include <iostream>

using namespace belfry;

namespace {

constexpr int64_t kGlobalBatch = 120;

// Statistics of SyncBatchNorm are those of all replicas' rows together; torch::nn::BatchNorm1d would take each
// replica's own.
struct NetImpl : torch::nn::Module {
  NetImpl()
      : hidden(register_module("hidden", torch::nn::Linear(64, 64))),
        norm(register_module("norm", SyncBatchNorm(64))),
        logits(register_module("logits", torch::nn::Linear(64, 10))) {}

  at::Tensor forward(const at::Tensor& pixels) { return logits(torch::relu(norm(hidden(pixels / 16)))); }

  torch::nn::Linear hidden;
  SyncBatchNorm norm;
  torch::nn::Linear logits;
};
TORCH_MODULE(Net);

// Called on every replica at once, with the replica's rows. Nothing in it knows of replicas: the loss is a mean over
// the rows of all, gradients are added up, and clipping is by their norm together.
EstimatorSpec model_fn(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  auto net = ctx.module<Net>("net");
  const at::Tensor logits = net(features["x"]);
  const Predictions predictions{{"class_ids", logits.argmax(1)}, {"probabilities", logits.softmax(1)}};
  if (mode == ModeKeys::kPredict) return EstimatorSpec::predict(predictions);

  const at::Tensor loss = losses::sparse_softmax_cross_entropy(labels.tensor(), logits, ctx);
  if (mode == ModeKeys::kEval) {
    return EstimatorSpec::eval(loss, {{"accuracy", metrics::accuracy(labels.tensor(), predictions["class_ids"])}});
  }
  const Adam optimizer({.learning_rate = 0.003});
  const GradientsAndVariables gradients = optimizer.compute_gradients(loss, ctx);
  return EstimatorSpec::train(loss, optimizer.apply_gradients(clip_by_global_norm(gradients, 1.0), ctx));
}

int run(const std::string& path, int64_t max_steps) {
  // One order for good, from which a fifth is held back; the rest is shuffled anew for each pass.
  const Dataset digits =
      Dataset::from_csv(path, {.label = "digit", .matrix = "x", .dtypes = {{"digit", CsvType::kInt64}}})
          .shuffle({.seed = 2026, .reshuffle_each_iteration = false});
  // Each replica takes a batch of its own in each step: together they make the global one.
  const auto training = [&](const InputContext& context) {
    const int64_t rows = context.get_per_replica_batch_size(kGlobalBatch);
    return digits.skip(360).shuffle({.seed = 1}).repeat().batch(rows).prefetch(2);
  };
  // An input that asks nothing is right, too: replicas take its batches in turn, and what is left over counts.
  const auto held_back = [&] { return digits.take(360).batch(100); };

  const auto strategy = std::make_shared<MirroredStrategy>(MirroredStrategyOptions{.devices = {"cpu:0", "cpu:1"}});
  Estimator estimator(model_fn, {.model_dir = "mirrored_model",
                                 .save_checkpoints_steps = 100,
                                 .train_distribute = strategy,
                                 .eval_distribute = strategy});
  const TrainResult trained = estimator.train(training, {.max_steps = max_steps});
  std::cout << "step " << trained.global_step << ", of which " << trained.steps << " were made now\n";
  const EvalResult result = estimator.evaluate(held_back);
  std::cout << "of " << result.rows() << " digits held back: accuracy " << result["accuracy"] << "\n";
  for (const Predictions& row : estimator.predict([&] { return digits.take(5).batch(5); })) {
    std::cout << "digit " << row["class_ids"].item<int64_t>() << "\n";
  }
  const auto receiver = build_raw_serving_input_receiver_fn({{"x", {.dtype = at::kFloat, .shape = {-1, 64}}}});
  std::cout << "exported to " << estimator.export_saved_model("mirrored_export", receiver).path << "\n";
  return result["accuracy"] > 0.95 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::cerr << "usage: " << argv[0] << " digits.csv [global step at which training ends, 300]\n";
    return 2;
  }
  try {
    return run(argv[1], argc == 3 ? std::stoll(argv[2]) : 300);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
