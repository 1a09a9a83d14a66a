// What benchmark_step compares: one network, trained by Belfry and by a loop written with LibTorch alone.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
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

// Each makes its model anew, trains warm_up + steps batches of shuffled rows, and gives the steps per second of the
// last `steps`.
double hand_written_steps_per_second(const Workload& workload, const Data& data);
// Checkpoints, summaries and logging off; all else as by default, with the check of every loss for NaN.
double estimator_steps_per_second(const Workload& workload, const Data& data, int towers);

}  // namespace benchmark
