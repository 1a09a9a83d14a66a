// How fast replicas add up tensors: all_reduce of 64 MB in 4, 64 and 1,000 tensors, against memcpy. The last line is
// `ratio X`: the slowest of the three against the lower limit.
//
// The limit: every replica has to read what all N have and to write a result of its own, (N + 1) * S bytes. memcpy of S
// bytes into fresh memory, on as many threads at once, moves 2 * S; so the limit is (N + 1) / 2 times its time.
#include <ATen/ATen.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <vector>

#include "benchmarks/benchmark_main.h"
#include "distribute/mirrored_strategy.h"

namespace {

using namespace belfry;
using Clock = std::chrono::steady_clock;
using Tensors = std::vector<at::Tensor>;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

PerReplica<Tensors> tensors_for(int replicas, int64_t bytes, int64_t count) {
  std::vector<Tensors> all;
  for (int i = 0; i < replicas; ++i) {
    all.emplace_back();
    for (int64_t k = 0; k < count; ++k) all.back().push_back(at::ones({bytes / count / 4}));
  }
  return PerReplica<Tensors>(std::move(all));
}

double all_reduce_seconds(Strategy& strategy, const PerReplica<Tensors>& values) {
  const auto start = Clock::now();
  strategy.run([](const Tensors& mine) { get_replica_context()->all_reduce(ReduceOp::kSum, mine); }, values);
  return seconds_since(start);
}

double memcpy_seconds(Strategy& strategy, const PerReplica<Tensors>& values) {
  const auto start = Clock::now();
  strategy.run(
      [](const Tensors& mine) {
        Tensors copies;
        for (const at::Tensor& tensor : mine) {
          copies.push_back(at::empty_like(tensor));
          std::memcpy(copies.back().mutable_data_ptr(), tensor.const_data_ptr(), tensor.nbytes());
        }
      },
      values);
  return seconds_since(start);
}

double measure(Strategy& strategy, int64_t bytes, int64_t count, int repetitions) {
  const int replicas = strategy.num_replicas_in_sync();
  const PerReplica<Tensors> values = tensors_for(replicas, bytes, count);
  std::vector<double> reduces, copies;
  for (int i = 0; i < repetitions; ++i) {  // in turns: the machine's other work meets both
    reduces.push_back(all_reduce_seconds(strategy, values));
    copies.push_back(memcpy_seconds(strategy, values));
  }
  const double limit = median(copies) * (replicas + 1) / 2;
  const double ratio = median(reduces) / limit;
  std::printf("%2d replicas %5lld tensors: all_reduce %7.2f ms, limit %7.2f ms, ratio %.2f\n", replicas,
              static_cast<long long>(count), median(reduces) * 1e3, limit * 1e3, ratio);
  return ratio;
}

}  // namespace

int main(int argc, char** argv) {
  namespace po = boost::program_options;
  int64_t megabytes = 64;
  int repetitions = 15, replicas = 2;
  po::options_description described("options");
  auto add = described.add_options();
  add("megabytes", po::value(&megabytes)->default_value(megabytes), "of each replica's tensors together");
  add("repetitions", po::value(&repetitions)->default_value(repetitions), "of which the median counts");
  add("replicas", po::value(&replicas)->default_value(replicas), "on one processor each");
  return benchmark::run_main(argc, argv, described, [&] {
    std::vector<std::string> devices;
    for (int i = 0; i < replicas; ++i) devices.push_back("cpu:" + std::to_string(i));
    MirroredStrategy strategy({.devices = devices});
    double worst = 0;
    for (const int64_t count : {4, 64, 1000}) {
      worst = std::max(worst, measure(strategy, megabytes << 20, count, repetitions));
    }
    std::printf("ratio %.2f\n", worst);
  });
}
