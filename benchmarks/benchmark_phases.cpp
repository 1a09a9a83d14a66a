// Where the time of a training step goes: microseconds of each phase, for one, two and four towers.
//   benchmark_phases [--svg FILE]     also draws it
#include <belfry.h>

#include <algorithm>
#include <array>
#include <boost/program_options.hpp>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <mutex>

#include "benchmarks/benchmark_main.h"
#include "benchmarks/benchmark_models.h"

namespace {

using benchmark::Workload;
using Clock = std::chrono::steady_clock;

constexpr std::array kPhases{"input", "split", "forward", "backward and merge", "update and commit"};
using Phases = std::array<double, kPhases.size()>;  // seconds

// Looks at the clock where a user's code is called.
class PhaseClock : public belfry::SessionRunHook {
 public:
  explicit PhaseClock(int64_t warm_up) : warm_up_(warm_up) {}

  void begin(belfry::HookSession&) override { ended_ = Clock::now(); }
  void before_run(belfry::RunContext&) override {
    started_ = Clock::now();
    first_in_ = Clock::time_point::max();
  }
  void model_entered() {
    const std::lock_guard lock(mutex_);
    first_in_ = std::min(first_in_, Clock::now());
  }
  void model_left() {
    const std::lock_guard lock(mutex_);
    last_out_ = Clock::now();
  }
  void before_apply(belfry::RunContext&) override { merged_ = Clock::now(); }
  void after_run(belfry::RunContext& context) override {
    const auto committed = Clock::now();
    if (context.global_step() > warm_up_) {
      const auto add = [&](size_t phase, Clock::time_point from, Clock::time_point to) {
        sums_[phase] += std::chrono::duration<double>(to - from).count();
      };
      add(0, ended_, started_);
      add(1, started_, first_in_);
      add(2, first_in_, last_out_);
      add(3, last_out_, merged_);
      add(4, merged_, committed);
      ++steps_;
    }
    ended_ = committed;
  }
  Phases per_step() const {
    Phases mean = sums_;
    for (double& seconds : mean) seconds /= static_cast<double>(std::max<int64_t>(1, steps_));
    return mean;
  }

 private:
  int64_t warm_up_;
  int64_t steps_ = 0;
  Phases sums_{};
  std::mutex mutex_;
  Clock::time_point ended_, started_, first_in_, last_out_, merged_;
};

struct Row {
  std::string workload;
  int towers;
  Phases phases;
};

Row measure(const Workload& workload, const benchmark::Data& data, int towers) {
  using namespace belfry;
  const auto clock = std::make_shared<PhaseClock>(workload.warm_up);
  const ModelFn inner = benchmark::make_model_fn(workload);
  const auto timed = [&](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    clock->model_entered();
    EstimatorSpec spec = inner(features, labels, mode, ctx);
    clock->model_left();
    return spec;
  };
  benchmark::train(workload, data, replicate_model_fn(timed, {.devices = benchmark::logical_devices(towers)}), {clock});
  return {workload.name, towers, clock->per_step()};
}

void print(const std::vector<Row>& rows) {
  std::printf("%-36s %6s", "microseconds a step", "towers");
  for (const char* phase : kPhases) std::printf(" %19s", phase);
  std::printf("\n");
  for (const Row& row : rows) {
    std::printf("%-36s %6d", row.workload.c_str(), row.towers);
    for (const double seconds : row.phases) std::printf(" %19.0f", seconds * 1e6);
    std::printf("\n");
  }
}

// A bar for each row, scaled to the longest of its workload.
void draw(const std::vector<Row>& rows, const std::string& path) {
  constexpr std::array kColours{"#9aa0a6", "#c58af9", "#4285f4", "#34a853", "#fbbc04"};
  std::ofstream out(path);
  const auto total = [](const Row& row) {
    double sum = 0;
    for (const double seconds : row.phases) sum += seconds;
    return sum;
  };
  out << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"860\" height=\"" << 70 + rows.size() * 34
      << "\" font-family=\"sans-serif\" font-size=\"13\">\n";
  double x = 10;
  for (size_t i = 0; i < kPhases.size(); ++i) {
    out << "<rect x=\"" << x << "\" y=\"10\" width=\"14\" height=\"14\" fill=\"" << kColours[i] << "\"/><text x=\""
        << x + 20 << "\" y=\"22\">" << kPhases[i] << "</text>\n";
    x += 60 + 8.0 * static_cast<double>(std::string(kPhases[i]).size());
  }
  double y = 44;
  for (const Row& row : rows) {
    double longest = 0;
    for (const Row& other : rows) {
      if (other.workload == row.workload) longest = std::max(longest, total(other));
    }
    out << "<text x=\"10\" y=\"" << y + 17 << "\">" << row.workload << ", " << row.towers
        << (row.towers == 1 ? " tower" : " towers") << "</text>\n";
    double left = 330;
    for (size_t i = 0; i < kPhases.size(); ++i) {
      const double width = 440 * row.phases[i] / longest;
      out << "<rect x=\"" << left << "\" y=\"" << y << "\" width=\"" << width << "\" height=\"24\" fill=\""
          << kColours[i] << "\"/>\n";
      left += width;
    }
    out << "<text x=\"" << left + 6 << "\" y=\"" << y + 17 << "\">" << static_cast<int64_t>(total(row) * 1e6)
        << " us</text>\n";
    y += 34;
  }
  out << "</svg>\n";
}

}  // namespace

int main(int argc, char** argv) {
  namespace options = boost::program_options;
  std::string svg;
  double scale = 1;
  options::options_description described("benchmark_phases");
  described.add_options()("svg", options::value(&svg), "a file for the picture")("scale", options::value(&scale),
                                                                                 "of the steps of each run");
  return benchmark::run_main(argc, argv, described, [&] {
    belfry::require(scale > 0, "scale has to be above 0");
    std::vector<Row> rows;
    for (const Workload& workload : benchmark::usual_workloads(scale)) {
      const benchmark::Data data = benchmark::make_data(workload);
      for (const int towers : {1, 2, 4}) rows.push_back(measure(workload, data, towers));
    }
    print(rows);
    if (!svg.empty()) draw(rows, svg);
  });
}
