// A training loop of one's own under a MirroredStrategy: no Estimator, and the program says itself what a step is.
//
//   data     examples/data/digits.csv: 1,797 images of 8 x 8 pixels (0 to 16) and the digit
//   command  build/release/examples/060_custom_loop_mirrored examples/data/digits.csv
//   expect   ten passes with a falling loss, and an accuracy above 0.95 on rows that it has not seen
#include <belfry.h>
#include <torch/torch.h>

#include <iostream>

using namespace belfry;

namespace {

constexpr int64_t kGlobalBatch = 120;

torch::nn::Sequential make_net() {
  return torch::nn::Sequential(torch::nn::Linear(64, 128), torch::nn::ReLU(), torch::nn::Linear(128, 10));
}

// Inside a run: this replica's logits, of variables that all replicas share.
at::Tensor logits_of(const Features& features) {
  auto net = StepContext::current()->module("net", make_net);
  return net->forward(features["x"] / 16);
}

// One replica's part of a training step. The losses and gradients of all replicas are added up, so that each divides by
// the rows of all: also right where the last batch leaves a replica with fewer rows, or with none.
at::Tensor train_step(const Batch& batch) {
  const at::Tensor loss =
      torch::nn::functional::cross_entropy(logits_of(batch.features), batch.labels.tensor(),
                                           torch::nn::functional::CrossEntropyFuncOptions().reduction(torch::kSum));
  const at::Tensor rows = at::full({}, batch.features.rows(), at::kLong);
  const at::Tensor scaled = loss / get_replica_context()->all_reduce("sum", rows);
  Adam({.learning_rate = 0.005}).minimize(scaled, *StepContext::current());
  return scaled.detach();
}

// Counts of right answers and of rows: each replica adds to its own, and reading adds them up.
void evaluation_step(const Batch& batch, DistributedVariable right, DistributedVariable rows) {
  const torch::NoGradGuard no_grad;
  right.assign_add(logits_of(batch.features).argmax(1).eq(batch.labels.tensor()).sum());
  rows.assign_add(at::full({}, batch.features.rows(), at::kLong));
}

int run(const char* path) {
  const Dataset digits =
      Dataset::from_csv(path, {.label = "digit", .matrix = "x", .dtypes = {{"digit", CsvType::kInt64}}})
          .shuffle({.seed = 2026, .reshuffle_each_iteration = false});
  MirroredStrategy strategy({.devices = {"cpu:0", "cpu:1"}, .seed = 1});
  const auto training =
      strategy.experimental_distribute_dataset(digits.skip(360).shuffle({.seed = 1}).batch(kGlobalBatch));
  for (int pass = 1; pass <= 10; ++pass) {
    double loss = 0;
    int64_t steps = 0;
    for (const PerReplica<Batch>& batch : training) {
      loss += strategy.reduce("SUM", strategy.run(train_step, batch)).item<double>();
      ++steps;
    }
    std::cout << "pass " << pass << ": loss " << loss / static_cast<double>(steps) << "\n";
  }

  const StrategyScope scope = strategy.scope();
  const VariableOptions counter{.synchronization = VariableSynchronization::kOnRead,
                                .aggregation = VariableAggregation::kSum};
  const DistributedVariable right = get_variable("right", at::zeros({}, at::kLong), counter);
  const DistributedVariable rows = get_variable("rows", at::zeros({}, at::kLong), counter);
  for (const PerReplica<Batch>& batch : strategy.experimental_distribute_dataset(digits.take(360).batch(100))) {
    strategy.run(evaluation_step, batch, right, rows);
  }
  const double accuracy = right.value().item<double>() / rows.value().item<double>();
  std::cout << "accuracy " << accuracy << " on " << rows.value().item<int64_t>() << " digits held back\n";
  return accuracy > 0.95 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: " << argv[0] << " digits.csv\n";
    return 2;
  }
  try {
    return run(argv[1]);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
