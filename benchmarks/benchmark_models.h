// What benchmarks train: one network, by Belfry and by a loop written with LibTorch alone.
#pragma once

#include <ATen/core/Tensor.h>
#include <belfry.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace benchmark {

struct Workload {
  std::string name;
  std::vector<int64_t> layers;  // pixels, hidden units …, classes
  int64_t rows;
  int64_t batch_size;
  bool adam;  // else Adagrad
  int64_t warm_up;
  int64_t steps;
};

// Standard normal pixels and random classes: the cost of a step does not depend on them.
struct Data {
  at::Tensor x;
  at::Tensor y;
};
Data make_data(const Workload& workload);

// A small network that a step's fixed costs dominate, and a wide one. `scale`: of the steps.
std::vector<Workload> usual_workloads(double scale);

// The workload's network, as a model_fn, which keeps a reference to it.
belfry::ModelFn make_model_fn(const Workload& workload);
// "cpu:0" ...
std::vector<std::string> logical_devices(int count);
// warm_up + steps batches of shuffled rows; checkpoints, summaries and logging off. Under a strategy the replicas share
// the batch.
void train(const Workload& workload, const Data& data, belfry::ModelFn model_fn, belfry::Hooks hooks,
           std::shared_ptr<const belfry::Strategy> strategy = nullptr);

// Each makes its model anew, trains warm_up + steps batches of shuffled rows, and gives the steps per second of the
// last `steps`.
double hand_written_steps_per_second(const Workload& workload, const Data& data);
// Checkpoints, summaries and logging off; all else as by default, with the check of every loss for NaN.
double estimator_steps_per_second(const Workload& workload, const Data& data, int towers);
// The same under a MirroredStrategy.
double mirrored_steps_per_second(const Workload& workload, const Data& data, int replicas);

}  // namespace benchmark
