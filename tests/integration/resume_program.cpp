// Trains a small network on handwritten digits and writes nothing but its model_dir: what resume_test kills.
//
//   resume_program DIGITS_CSV MODEL_DIR TOWERS MAX_STEPS CHECKPOINT_STEPS [late | replayed | mirrored]
//
// late: on batches from a generator with save and restore, some of which, the first after 200 others, have a part of
// the model of their own, whose variables and slots come into being then; gradients are clipped.
// replayed: the same, but the generator has no save and restore.
// mirrored: under a MirroredStrategy of TOWERS replicas, which share the batches of 30.
//
// Ends with 0 when global step MAX_STEPS is reached, with 3 when a signal stopped it, with 1 on an error.
#include <torch/torch.h>

#include <iostream>
#include <random>
#include <sstream>
#include <string>

#include "core/log.h"
#include "data/dataset.h"
#include "distribute/mirrored_strategy.h"
#include "estimator/estimator.h"
#include "estimator/losses/losses.h"
#include "optimizers/adam.h"
#include "optimizers/clip_gradients.h"
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

EstimatorSpec late_model_fn(const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
  auto net = ctx.module<Net>("net");
  at::Tensor logits = net(features["x"]);
  // One answer for all rows of a batch, and so for all towers.
  if (features["is_late"].any().item<bool>()) {
    logits = logits + ctx.module<torch::nn::Linear>("late", 64, 10)(features["x"]);
  }
  const at::Tensor loss = losses::sparse_softmax_cross_entropy(labels.tensor(), logits, ctx);
  const TowerOptimizer adam(Adam({.learning_rate = 0.01}));
  return EstimatorSpec::train(
      loss, adam.apply_gradients(clip_by_global_norm(adam.compute_gradients(loss, ctx), /*clip_norm=*/0.5), ctx));
}

// A pass of random images, a batch an element; the digit is where the brightest of the first ten pixels is.
class Images {
 public:
  std::optional<Batch> next() {
    if (made_ == 2000) return std::nullopt;
    at::Tensor x = torch::empty({30, 64});
    std::uniform_real_distribution<float> pixel(0, 1);
    for (int64_t i = 0; i < x.numel(); ++i) x.data_ptr<float>()[i] = pixel(random_);
    const bool is_late = made_ >= 200 && made_ % 5 == 0;
    ++made_;
    return Batch{{{"x", x}, {"is_late", torch::full({30}, is_late)}}, x.narrow(1, 0, 10).argmax(1)};
  }
  std::string save() const {
    std::ostringstream position;
    position << made_ << ' ' << random_;
    return position.str();
  }
  void restore(const std::string& position) { std::istringstream(position) >> made_ >> random_; }

 private:
  int64_t made_ = 0;
  std::mt19937_64 random_{11};
};

Dataset images(bool replayed) {
  return Dataset::from_generator(
             [replayed] {
               const auto source = std::make_shared<Images>();
               if (replayed) return Generator([source] { return source->next(); });
               return Generator([source] { return source->next(); }, [source] { return source->save(); },
                                [source](const std::string& position) { source->restore(position); });
             },
             {.name = "images", .batched = true})
      .shuffle({.buffer_size = 8, .seed = 3})
      .repeat()
      .prefetch(3);
}

Batch scaled(Batch batch) {
  batch.features.set("x", batch.features["x"] / 16);
  return batch;
}

InputFn digits_of(const std::string& path) {
  const Dataset digits =
      Dataset::from_csv(path, {.label = "digit", .matrix = "x", .dtypes = {{"digit", CsvType::kInt64}}});
  return [digits](const InputContext& context) {
    const int64_t rows = context.get_per_replica_batch_size(30);
    return digits.shuffle({.buffer_size = 500, .seed = 3}).repeat().batch(rows).map(scaled).prefetch(3);
  };
}

std::vector<std::string> devices(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back("cpu:" + std::to_string(i));
  return names;
}

int train(char** argv, const std::string& variant) {
  const bool late = variant == "late" || variant == "replayed";
  const InputFn input = late ? InputFn([=] { return images(variant == "replayed"); }) : digits_of(argv[1]);
  const std::vector<std::string> towers = devices(std::stoi(argv[3]));
  RunConfig config{.model_dir = argv[2],
                   .save_checkpoints_steps = std::stoll(argv[5]),
                   .save_summary_steps = 0,
                   .log_step_count_steps = 0};
  ModelFn model = late ? late_model_fn : model_fn;
  if (variant == "mirrored") {
    config.train_distribute = std::make_shared<MirroredStrategy>(MirroredStrategyOptions{.devices = towers});
  } else {
    model = replicate_model_fn(model, {.devices = towers});
  }
  Estimator estimator(model, config);
  const TrainResult result = estimator.train(input, {.max_steps = std::stoll(argv[4])});
  return result.reason == StopReason::kInterrupted ? 3 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string variant = argc == 7 ? argv[6] : "";
  const bool known = variant.empty() || variant == "late" || variant == "replayed" || variant == "mirrored";
  if (argc < 6 || argc > 7 || !known) {
    std::cerr << "usage: resume_program DIGITS_CSV MODEL_DIR TOWERS MAX_STEPS CHECKPOINT_STEPS "
                 "[late | replayed | mirrored]\n";
    return 2;
  }
  set_log_level(LogLevel::kWarning);
  at::set_num_threads(1);  // OpenMP workers that spin for each other would make a loaded machine crawl
  try {
    return train(argv, variant);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
