// What the process has beside Belfry is as before after every call: the global generator, grad mode, thread counts.
#include "tests/testing.h"

#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include "core/error.h"
#include "estimator/estimator.h"
#include "estimator/losses/losses.h"
#include "optimizers/gradient_descent.h"
#include "tests/estimator/linear_model.h"
#include "tests/support/temporary_directory.h"
#include "towers/replicate_model_fn.h"
#include "towers/tower_optimizer.h"

using namespace belfry;
using namespace belfry::testing;

namespace {

struct ProcessState {
  at::Tensor generator = at::detail::getDefaultCPUGenerator().get_state().clone();
  bool grad_mode = at::GradMode::is_enabled();
  int threads = at::get_num_threads();
  int interop_threads = at::get_num_interop_threads();
  bool deterministic = at::globalContext().deterministicAlgorithms();

  void check_unchanged() const {
    const ProcessState now;
    CHECK(torch::equal(generator, now.generator));
    CHECK(grad_mode == now.grad_mode);
    CHECK(threads == now.threads);
    CHECK(interop_threads == now.interop_threads);
    CHECK(deterministic == now.deterministic);
  }
};

// Draws random numbers as it can; in tower `failing` it throws, -1 for none.
ModelFn noisy_model_fn(int failing) {
  return [failing](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    const at::Tensor w = ctx.variable("w", [] { return torch::randn({1}); });
    const at::Tensor y = torch::dropout(features["x"] * w, 0.5, true) + torch::rand({1});
    if (ctx.tower_index() == failing) fail(ErrorKind::kOutOfRange, "tower ", failing, " fails");
    if (mode == ModeKeys::kPredict) return EstimatorSpec::predict(y);
    const at::Tensor loss = losses::mean_squared_error(labels.tensor(), y, ctx);
    if (mode == ModeKeys::kEval) return EstimatorSpec::eval(loss);
    return EstimatorSpec::train(loss, TowerOptimizer(GradientDescent()).minimize(loss, ctx));
  };
}

ModelFn over_towers(ModelFn model_fn, int towers) {
  ReplicateOptions options;
  for (int i = 0; i < towers; ++i) options.devices.push_back(concat("cpu:", i));
  return replicate_model_fn(std::move(model_fn), options);
}

void call_everything(Estimator& estimator) {
  estimator.train(line(), {.steps = 3});
  estimator.evaluate(line(), {.steps = 2});
  estimator.predict(line_features(4));
  for (const Predictions& row : estimator.predict(line(8, 4, 1))) (void)row;
}

}  // namespace

TEST_CASE("train, evaluate and predict leave the process as it was", "[process]") {
  const TemporaryDirectory dir;
  const int towers = GENERATE(1, 2, 3);
  const bool grad_mode = GENERATE(true, false);
  CAPTURE(towers, grad_mode);
  const at::AutoGradMode mode(grad_mode);
  torch::manual_seed(5);
  Estimator estimator(over_towers(noisy_model_fn(-1), towers), quiet(dir.path()));
  const ProcessState before;
  call_everything(estimator);
  before.check_unchanged();
  CHECK(saved(estimator, "global_step") == 3);
}

TEST_CASE("calls that throw leave the process as it was", "[process]") {
  const TemporaryDirectory dir;
  const int towers = GENERATE(1, 2, 3);
  const int failing = towers - 1;
  CAPTURE(towers);
  Estimator estimator(over_towers(noisy_model_fn(failing), towers), quiet(dir.path()));
  const ProcessState before;
  CHECK_THROWS_AS(estimator.train(line(), {.steps = 3}), Error);
  before.check_unchanged();
  CHECK_THROWS_AS(estimator.evaluate(line(), {.steps = 2}), Error);
  before.check_unchanged();
  CHECK_THROWS_AS(estimator.predict(line_features(4)), Error);
  before.check_unchanged();
  PredictRange range = estimator.predict(line());
  CHECK_THROWS_AS(range.begin(), Error);
  before.check_unchanged();
}

TEST_CASE("the process's own number of threads is kept, whatever it is", "[process]") {
  const TemporaryDirectory dir;
  const int before = at::get_num_threads();
  at::set_num_threads(3);
  Estimator estimator(over_towers(noisy_model_fn(-1), 2), quiet(dir.path()));
  call_everything(estimator);
  CHECK(at::get_num_threads() == 3);
  at::set_num_threads(before);
}

TEST_CASE("the global generator does not move what a training does", "[process][E18]") {
  std::vector<at::Tensor> weights;
  for (const uint64_t seed : {1, 2}) {
    const TemporaryDirectory dir;
    torch::manual_seed(seed);
    Estimator estimator(over_towers(noisy_model_fn(-1), 2), quiet(dir.path()));
    call_everything(estimator);
    weights.push_back(estimator.get_variable_value("w"));
  }
  CHECK(torch::equal(weights[0], weights[1]));
}

TEST_CASE("predictions may be asked for in inference mode, and training goes on outside it", "[process]") {
  const TemporaryDirectory dir;
  Estimator estimator(linear_model_fn, quiet(dir.path()));
  estimator.train(line(), {.steps = 3});
  {
    const c10::InferenceMode guard;
    CHECK(estimator.predict(line_features(4))["y"].size(0) == 4);
    CHECK(estimator.evaluate(line(), {.steps = 2}).rows() == 8);
  }
  CHECK(estimator.predict(line_features(4))["y"].size(0) == 4);
  CHECK(estimator.evaluate(line(), {.steps = 2}).rows() == 8);
  CHECK(estimator.train(line(), {.steps = 3}).global_step == 6);
}
