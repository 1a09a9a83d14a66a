// How fast towers' gradients are reduced and applied: GB/s of bytes read and written by the update of gradient descent,
// against memcpy that moves as many bytes with as many threads. The last line is `ratio X` for two towers.
//
// N towers' gradients of S bytes each are read (N * S), the variable is read and written (2 * S). memcpy of b bytes
// moves 2 * b.
#include <ATen/ATen.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <vector>

#include "benchmarks/benchmark_main.h"
#include "core/error.h"
#include "distribute/replica_set.h"
#include "optimizers/gradient_descent.h"
#include "optimizers/update_committer.h"

namespace {

using namespace belfry;
using Clock = std::chrono::steady_clock;

constexpr int64_t kTensors = 16;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

class Aggregation {
 public:
  Aggregation(int towers, int64_t bytes) : store_(1), replicas_(store_), committer_(store_), towers_(towers) {
    std::vector<LogicalDevice> devices;
    for (int i = 0; i < towers; ++i) devices.push_back(parse_device("cpu:" + std::to_string(i)));
    replicas_.use(devices);
    const int64_t each = bytes / kTensors / static_cast<int64_t>(sizeof(float));
    for (int64_t i = 0; i < kTensors; ++i) {
      variables_.push_back(&store_.get_or_create("v" + std::to_string(i), VariableKind::kParameter, at::zeros({each})));
    }
    for (int tower = 0; tower < towers; ++tower) {
      gradients_.emplace_back();
      for (int64_t i = 0; i < kTensors; ++i) gradients_.back().push_back(at::ones({each}));
    }
  }

  // Seconds of one reduce-and-update.
  double run() {
    auto update = std::make_shared<PendingUpdate>(optimizer_, "apply_gradients", std::source_location::current());
    for (const auto& tower : gradients_) {
      GradientsAndVariables entries;
      for (size_t i = 0; i < variables_.size(); ++i) entries.push_back({tower[i], variables_[i]});
      update->gradients.push_back(std::move(entries));
    }
    const TrainOp train_op(std::move(update));
    committer_.prepare(train_op);
    const auto start = Clock::now();
    committer_.commit(train_op, towers_ > 1 ? &replicas_.group() : nullptr, towers_);
    return seconds_since(start);
  }

  ReplicaGroup& group() { return replicas_.group(); }

 private:
  VariableStore store_;
  ReplicaSet replicas_;
  UpdateCommitter committer_;
  int towers_;
  GradientDescent optimizer_{GradientDescentOptions{.learning_rate = 0.01}};
  std::vector<Variable*> variables_;
  std::vector<std::vector<at::Tensor>> gradients_;
};

// Seconds in which `threads` threads together copy so many bytes.
double copy_seconds(ReplicaGroup& group, int threads, std::vector<char>& from, std::vector<char>& to) {
  const size_t share = from.size() / static_cast<size_t>(threads);
  const auto start = Clock::now();
  group.run(threads, [&](int i) {
    const size_t offset = share * static_cast<size_t>(i);
    std::memcpy(to.data() + offset, from.data() + offset, share);
  });
  return seconds_since(start);
}

double measure(int towers, int64_t bytes, int repetitions) {
  Aggregation aggregation(towers, bytes);
  const double moved = static_cast<double>(bytes) * (towers + 2);
  std::vector<char> from(static_cast<size_t>(moved / 2), 1);
  std::vector<char> to(from.size());
  std::vector<double> updates;
  std::vector<double> copies;
  for (int i = 0; i <= repetitions; ++i) {
    const double update = aggregation.run();
    const double copy = copy_seconds(aggregation.group(), towers, from, to);
    if (i == 0) continue;  // memory is touched for the first time
    updates.push_back(moved / update / 1e9);
    copies.push_back(moved / copy / 1e9);
  }
  const double ratio = median(updates) / median(copies);
  std::printf("%6d %14.2f %14.2f %10.2f\n", towers, median(updates), median(copies), ratio);
  return ratio;
}

}  // namespace

int main(int argc, char** argv) {
  namespace options = boost::program_options;
  int64_t megabytes = 64;
  int repetitions = 21;
  options::options_description described("benchmark_aggregate");
  described.add_options()("megabytes", options::value(&megabytes), "of the variables together")(
      "repetitions", options::value(&repetitions), "runs, of which the median counts");
  return benchmark::run_main(argc, argv, described, [&] {
    require(megabytes > 0 && repetitions > 0, "megabytes and repetitions have to be above 0");
    std::printf("%lld MB of variables in %lld tensors, GB/s moved\n", static_cast<long long>(megabytes),
                static_cast<long long>(kTensors));
    std::printf("%6s %14s %14s %10s\n", "towers", "reduce+update", "memcpy", "ratio");
    double ratio = 0;
    for (const int towers : {1, 2, 4}) {
      const double measured = measure(towers, megabytes << 20, repetitions);
      if (towers == 2) ratio = measured;
    }
    std::printf("ratio %.3f\n", ratio);
  });
}
