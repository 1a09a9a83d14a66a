// What serving an export in C++ costs, and how long an export takes. The last line is `ratio X`: the latency of Predictor
// for one row against the module's own forward, of the network where it is worst.
#include <torch/torch.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "benchmarks/benchmark_main.h"
#include "core/file_system.h"
#include "export/predictor.h"
#include "export/saved_model_export.h"

namespace {

using namespace belfry;
using Clock = std::chrono::steady_clock;

double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

torch::nn::Sequential network(int64_t width, int layers) {
  torch::nn::Sequential net;
  for (int i = 0; i < layers; ++i) {
    net->push_back(torch::nn::Linear(width, width));
    net->push_back(torch::nn::ReLU());
  }
  net->eval();
  return net;
}

ExportRequest request_for(torch::nn::Sequential net, int64_t width, const std::vector<ExportFormat>& formats) {
  NamedTensors variables;
  for (const auto& parameter : net->named_parameters()) variables.emplace_back(parameter.key(), parameter.value());
  return {.function = [net](const Features& features) mutable -> ExportOutputs {
            return {{kServingDefault, PredictOutput{{{"y", net->forward(features["x"])}}}}};
          },
          .receiver =
              ServingInputReceiver(std::vector<std::pair<std::string, TensorSpec>>{{"x", {.shape = {-1, width}}}}),
          .variables = variables,
          .formats = formats};
}

struct Latency {
  double forward;
  double predict;
};

// In turns, so that the machine's other work meets both.
Latency latency_of(torch::nn::Sequential net, const Predictor& predictor, const at::Tensor& x, int calls) {
  std::vector<double> forwards, predicts;
  for (int i = 0; i < calls; ++i) {
    const torch::NoGradGuard no_grad;
    auto start = Clock::now();
    net->forward(x);
    forwards.push_back(microseconds_since(start));
    start = Clock::now();
    predictor.predict({{"x", x}});
    predicts.push_back(microseconds_since(start));
  }
  return {median(forwards), median(predicts)};
}

double compare(const std::string& folder, int64_t width, int layers, int calls) {
  const torch::nn::Sequential net = network(width, layers);
  const std::string base = join_path(folder, std::to_string(width));
  const ExportResult result =
      write_saved_model(base, request_for(net, width, {ExportFormat::kTorchScript}), posix_file_system());
  const Predictor predictor(result.path);
  const at::Tensor x = at::randn({1, width});
  latency_of(net, predictor, x, 100);  // the executor specialises itself in its first calls
  const Latency latency = latency_of(net, predictor, x, calls);
  std::printf("%2d layers of %4lld: forward %7.1f us, predict %7.1f us, ratio %.2f\n", layers,
              static_cast<long long>(width), latency.forward, latency.predict, latency.predict / latency.forward);
  return latency.predict / latency.forward;
}

void export_large(const std::string& folder, int64_t megabytes) {
  const int64_t width = 1280;  // 6.6 MB a layer
  const torch::nn::Sequential net = network(width, static_cast<int>(megabytes * 1000000 / (4 * width * width)));
  const auto formats = {ExportFormat::kTorchScript, ExportFormat::kSavedModel};
  const auto start = Clock::now();
  write_saved_model(join_path(folder, "large"), request_for(net, width, formats), posix_file_system());
  std::printf("export of %lld MB as TorchScript and SavedModel: %.2f s\n", static_cast<long long>(megabytes),
              microseconds_since(start) / 1e6);
}

}  // namespace

int main(int argc, char** argv) {
  namespace options = boost::program_options;
  int calls = 0;
  int64_t megabytes = 0;
  options::options_description described("Latency of Predictor, and time of an export");
  described.add_options()("calls", options::value(&calls)->default_value(2000), "timed calls of each")(
      "megabytes", options::value(&megabytes)->default_value(100), "of weights in the large export");
  return benchmark::run_main(argc, argv, described, [&] {
    const std::string folder = std::filesystem::temp_directory_path() / "belfry_benchmark_export";
    std::filesystem::remove_all(folder);
    double worst = 0;
    for (const auto& [width, layers] : {std::pair<int64_t, int>{16, 3}, {256, 4}, {1024, 4}}) {
      worst = std::max(worst, compare(folder, width, layers, calls));
    }
    export_large(folder, megabytes);
    std::filesystem::remove_all(folder);
    std::printf("ratio %.2f\n", worst);
  });
}
