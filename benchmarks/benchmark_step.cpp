// Steps per second of Estimator::train against a hand-written LibTorch loop, and of two and four towers, and two
// replicas of a MirroredStrategy, against one.
// All runs are in this process, with one thread a tower, interleaved; the medians count. The last line is `ratio X`:
// Estimator / hand-written on the small network.
#include <belfry.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <cstdio>
#include <functional>

#include "benchmarks/benchmark_main.h"
#include "benchmarks/benchmark_models.h"

namespace {

using benchmark::Workload;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

struct Contestant {
  const char* name;
  std::function<double()> steps_per_second;
  std::vector<double> measured = {};
};

// Prints a line for each and gives the median of the second over that of the first.
double compare(const Workload& workload, int repetitions, std::vector<Contestant> contestants) {
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    for (Contestant& contestant : contestants) contestant.measured.push_back(contestant.steps_per_second());
  }
  const double first = median(contestants[0].measured);
  for (const Contestant& contestant : contestants) {
    const double value = median(contestant.measured);
    const auto [low, high] = std::minmax_element(contestant.measured.begin(), contestant.measured.end());
    std::printf("%-34s %-14s %9.1f %9.1f %9.1f %7.2f\n", workload.name.c_str(), contestant.name, value, *low, *high,
                value / first);
  }
  std::fflush(stdout);
  return median(contestants[1].measured) / first;
}

double run(double scale, int repetitions) {
  const std::vector<Workload> workloads = benchmark::usual_workloads(scale);
  const Workload& small = workloads[0];
  const Workload& large = workloads[1];
  const benchmark::Data small_data = make_data(small);
  const benchmark::Data large_data = make_data(large);

  std::printf("%-34s %-14s %9s %9s %9s %7s\n", "steps per second", "", "median", "lowest", "highest", "ratio");
  const double ratio = compare(small, repetitions,
                               {{"hand-written", [&] { return hand_written_steps_per_second(small, small_data); }},
                                {"Estimator", [&] { return estimator_steps_per_second(small, small_data, 1); }}});
  for (const auto& [workload, data] : {std::pair{&small, &small_data}, std::pair{&large, &large_data}}) {
    compare(*workload, repetitions,
            {{"one tower", [&, w = workload, d = data] { return estimator_steps_per_second(*w, *d, 1); }},
             {"two towers", [&, w = workload, d = data] { return estimator_steps_per_second(*w, *d, 2); }},
             {"two replicas", [&, w = workload, d = data] { return mirrored_steps_per_second(*w, *d, 2); }},
             {"four towers", [&, w = workload, d = data] { return estimator_steps_per_second(*w, *d, 4); }}});
  }
  return ratio;
}

}  // namespace

int main(int argc, char** argv) {
  namespace options = boost::program_options;
  double scale = 1;
  int repetitions = 5;
  options::options_description described("benchmark_step");
  described.add_options()("scale", options::value(&scale), "of the steps of each run, 1: the usual")(
      "repetitions", options::value(&repetitions), "runs of each, of which the median counts");
  return benchmark::run_main(argc, argv, described, [&] {
    belfry::require(scale > 0 && repetitions > 0, "scale and repetitions have to be above 0");
    std::printf("ratio %.3f\n", run(scale, repetitions));
  });
}
