// Trains a small network on handwritten digits and writes nothing but its model_dir: what resume_test kills.
//
//   resume_program DIGITS_CSV MODEL_DIR TOWERS MAX_STEPS CHECKPOINT_STEPS
//
// Ends with 0 when global step MAX_STEPS is reached, with 3 when a signal stopped it, with 1 on an error.
#include <torch/torch.h>

#include <iostream>
#include <string>

#include "core/log.h"
#include "data/dataset.h"
#include "estimator/estimator.h"
#include "estimator/losses/losses.h"
#include "optimizers/adam.h"
#include "towers/replicate_model_fn.h"
#include "towers/tower_optimizer.h"

using namespace belfry;

namespace {

// Whatever holds state or draws random numbers: batch norm, dropout, Adam.
struct NetImpl : torch::nn::Module {
  NetImpl()
      : hidden(register_module("hidden", torch::nn::Linear(64, 32))),
        norm(register_module("norm", torch::nn::BatchNorm1d(32))),
        dropout(register_module("dropout", torch::nn::Dropout(0.3))),
        logits(register_module("logits", torch::nn::Linear(32, 10))) {}

  at::Tensor forward(const at::Tensor& x) { return logits(dropout(torch::relu(norm(hidden(x))))); }

  torch::nn::Linear hidden;
  torch::nn::BatchNorm1d norm;
  torch::nn::Dropout dropout;
  torch::nn::Linear logits;
};
TORCH_MODULE(Net);

EstimatorSpec model_fn(const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
  auto net = ctx.module<Net>("net");
  const at::Tensor loss = losses::sparse_softmax_cross_entropy(labels.tensor(), net(features["x"]), ctx);
  return EstimatorSpec::train(loss, TowerOptimizer(Adam({.learning_rate = 0.01})).minimize(loss, ctx));
}

Batch scaled(Batch batch) {
  batch.features.set("x", batch.features["x"] / 16);
  return batch;
}

int train(char** argv) {
  const Dataset digits =
      Dataset::from_csv(argv[1], {.label = "digit", .matrix = "x", .dtypes = {{"digit", CsvType::kInt64}}});
  const auto input = [&] {
    return digits.shuffle({.buffer_size = 500, .seed = 3}).repeat().batch(30).map(scaled).prefetch(3);
  };
  ReplicateOptions towers;
  for (int i = 0; i < std::stoi(argv[3]); ++i) towers.devices.push_back("cpu:" + std::to_string(i));
  Estimator estimator(replicate_model_fn(model_fn, towers), {.model_dir = argv[2],
                                                             .save_checkpoints_steps = std::stoll(argv[5]),
                                                             .save_summary_steps = 0,
                                                             .log_step_count_steps = 0});
  const TrainResult result = estimator.train(input, {.max_steps = std::stoll(argv[4])});
  return result.reason == StopReason::kInterrupted ? 3 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::cerr << "usage: resume_program DIGITS_CSV MODEL_DIR TOWERS MAX_STEPS CHECKPOINT_STEPS\n";
    return 2;
  }
  set_log_level(LogLevel::kWarning);
  at::set_num_threads(1);  // OpenMP workers that spin for each other would make a loaded machine crawl
  try {
    return train(argv);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
