// Many calls on one Estimator: what it holds does not grow.
#include <fstream>

#include "tests/testing.h"

#include <ATen/Parallel.h>

#include "core/error.h"
#include "estimator/estimator.h"
#include "estimator/losses/losses.h"
#include "optimizers/adam.h"
#include "tests/estimator/linear_model.h"
#include "tests/support/sanitized.h"
#include "tests/support/temporary_directory.h"
#include "towers/replicate_model_fn.h"
#include "towers/tower_optimizer.h"

using namespace belfry;
using namespace belfry::testing;

namespace {

constexpr int64_t kWidth = 20000;  // 80 kB a copy: one that is left behind in each call shows

// A number of /proc/self/status: "VmRSS" in kB, "Threads".
int64_t process_number(const std::string& field) {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);) {
    if (line.rfind(field + ":", 0) == 0) return std::stoll(line.substr(field.size() + 1));
  }
  fail(ErrorKind::kNotFound, "/proc/self/status has no ", field);
}

EstimatorSpec wide_model_fn(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  const at::Tensor w = ctx.variable("w", [] { return torch::zeros({kWidth}); });
  const at::Tensor y = features["x"].unsqueeze(1).mul(w).mean(1);
  if (mode == ModeKeys::kPredict) return EstimatorSpec::predict(y);
  const at::Tensor loss = losses::mean_squared_error(labels.tensor(), y, ctx);
  if (mode == ModeKeys::kEval) return EstimatorSpec::eval(loss);
  return EstimatorSpec::train(loss, TowerOptimizer(Adam()).minimize(loss, ctx));
}

void call_round(Estimator& estimator) {
  estimator.train(line(), {.steps = 2});
  estimator.evaluate(line(), {.steps = 1});
  estimator.predict(line_features(4));
  PredictRange range = estimator.predict(line(8, 4, 1));
  range.begin();  // and is dropped before its end
}

}  // namespace

TEST_CASE("two hundred calls of train, evaluate and predict hold no more than the first ones", "[soak]") {
  const int towers = GENERATE(1, 2);
  CAPTURE(towers);
  const int process_threads = at::get_num_threads();
  at::set_num_threads(1);  // OpenMP workers that spin for each other would make a loaded machine crawl
  const TemporaryDirectory dir;
  ReplicateOptions options;
  for (int i = 0; i < towers; ++i) options.devices.push_back(concat("cpu:", i));
  RunConfig config = quiet(dir.path());
  config.keep_checkpoint_max = 2;
  Estimator estimator(replicate_model_fn(wide_model_fn, options), config);
  const int first = repetitions(20);
  const int rounds = repetitions(50);  // four calls each
  for (int i = 0; i < first; ++i) call_round(estimator);
  const int64_t memory = process_number("VmRSS");
  const int64_t threads = process_number("Threads");
  for (int i = 0; i < rounds; ++i) call_round(estimator);
  CHECK(process_number("Threads") <= threads);
  // A copy kept in each call would be 16 MB and more. A sanitizer holds on to what was freed.
  if (!kSanitized) CHECK(process_number("VmRSS") <= memory + 8 * 1024);
  CHECK(saved(estimator, "global_step") == 2 * (first + rounds));
  at::set_num_threads(process_threads);
}
