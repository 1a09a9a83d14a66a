#include <sstream>

#include "optimizers/adagrad.h"
#include "optimizers/adam.h"
#include "optimizers/clip_gradients.h"
#include "optimizers/gradient_descent.h"
#include "optimizers/momentum.h"
#include "tests/optimizers/training.h"
#include "tests/support/reference.h"
#include "tests/testing.h"

using belfry::Optimizer;
using belfry::StepContext;
using belfry::testing::Json;
using belfry::testing::Training;

namespace {

constexpr double kRelative = 1e-5;
constexpr double kAbsolute = 5e-7;

// The number after one of `keys` in text like "lr .05 b1 .9": the file says with what each run was made.
double setting(const std::string& settings, const std::vector<std::string>& keys, double otherwise) {
  for (const std::string& key : keys) {
    const size_t at = settings.find(key + " ");
    if (at == std::string::npos) continue;
    std::istringstream number(settings.substr(at + key.size()));
    double value = 0;
    if (number >> value) return value;
  }
  return otherwise;
}

Optimizer make(const std::string& run, const std::string& settings) {
  const bool keras = run.starts_with("keras_");
  const auto get = [&](const std::vector<std::string>& keys, double otherwise) {
    return setting(settings, keys, otherwise);
  };
  if (run.find("adagrad") != std::string::npos) {
    return belfry::Adagrad({.learning_rate = get({"lr"}, 0.05),
                            .initial_accumulator_value = get({"initial accumulator", "accumulator"}, 0.1),
                            .epsilon = get({"eps"}, keras ? 1e-7 : 0)});
  }
  if (run.find("adam") != std::string::npos) {
    return belfry::Adam({.learning_rate = get({"lr"}, 0.05),
                         .beta1 = get({"b1"}, 0.9),
                         .beta2 = get({"b2"}, 0.999),
                         .epsilon = get({"eps"}, keras ? 1e-7 : 1e-8)});
  }
  const bool nesterov = run.find("nesterov") != std::string::npos;
  const double momentum = get({"momentum"}, nesterov ? 0.9 : 0);
  if (momentum == 0) return belfry::GradientDescent({.learning_rate = get({"lr"}, 0.1)});
  return belfry::Momentum({.learning_rate = get({"lr"}, 0.1), .momentum = momentum, .use_nesterov = nesterov});
}

at::Tensor rows_gradient(const Json& rows, const Json& values, at::IntArrayRef shape, at::ScalarType dtype) {
  const at::Tensor indices = belfry::testing::to_tensor(rows, at::kLong).unsqueeze(0);
  return at::sparse_coo_tensor(indices, belfry::testing::to_tensor(values, dtype), shape);
}

// Keras keeps momentum with the learning rate in it and the sign turned.
void check_slots(const Training& training, const Optimizer& optimizer, const Json& slots, double momentum_scale) {
  for (const auto& [name, expected] : slots.items()) {
    INFO("slot " << name);
    at::Tensor slot = optimizer.get_slot(training.store, "w", name);
    if (name == "momentum") slot = slot * momentum_scale;
    belfry::testing::check_close(slot, expected, kRelative, kAbsolute);
  }
}

void check_run(const Json& all, const std::string& run, at::ScalarType dtype, bool sparse) {
  INFO(run << (sparse ? " sparse " : " dense ") << dtype);
  const Json& expected = all["runs"][run];
  const std::string settings = expected["settings"];
  const Optimizer optimizer = make(run, settings);
  const at::Tensor start = belfry::testing::to_tensor(all[sparse ? "start_sparse" : "start_dense"], dtype);
  Training training;
  const Json& values = expected[sparse ? "sparse" : "dense"];
  for (size_t t = 0; t < values.size(); ++t) {
    training.step([&](StepContext& context) {
      Training::variable(context, "w", start);
      const at::Tensor gradient =
          sparse ? rows_gradient(all["sparse_indices"][t], all["sparse_gradients"][t], start.sizes(), dtype)
                 : belfry::testing::to_tensor(all["gradients_dense"][t], dtype);
      optimizer.apply_gradients({{gradient, training.store.find("w")}}, context);
    });
    belfry::testing::check_close(training.value("w"), values[t], kRelative, kAbsolute);
  }
  const bool keras = run.starts_with("keras_");
  check_slots(training, optimizer, expected[sparse ? "sparse_slots_final" : "dense_slots_final"],
              keras ? -optimizer.learning_rate(0) : 1);
}

void check_runs(const std::vector<std::string>& runs) {
  const Json all = belfry::testing::reference("canned")["optimizers"];
  for (const std::string& run : runs) {
    for (const at::ScalarType dtype : {at::kDouble, at::kFloat}) {
      check_run(all, run, dtype, false);
      check_run(all, run, dtype, true);
    }
  }
}

}  // namespace

TEST_CASE("canned: Adagrad gives TensorFlow's numbers, dense and sparse", "[optimizers][E111]") {
  check_runs({"v1_adagrad", "v1_adagrad_acc1", "keras_adagrad", "keras_adagrad_05"});
}

TEST_CASE("canned: Adam gives TensorFlow's numbers, dense and sparse", "[optimizers][E113]") {
  check_runs({"v1_adam", "v1_adam_custom", "keras_adam", "keras_adam_05"});
}

TEST_CASE("canned: gradient descent and momentum give TensorFlow's numbers, dense and sparse", "[optimizers][E115]") {
  check_runs(
      {"v1_sgd", "keras_sgd", "v1_momentum", "v1_momentum_nesterov", "keras_sgd_momentum", "keras_sgd_nesterov"});
}

TEST_CASE("canned: clipping by global norm gives TensorFlow's numbers", "[optimizers]") {
  const Json clip = belfry::testing::reference("canned")["optimizers"]["clip_by_global_norm"];
  belfry::GradientsAndVariables gradients;
  for (const Json& gradient : clip["gradients"]) {
    gradients.push_back({belfry::testing::to_tensor(gradient, at::kDouble), nullptr, false});
  }
  belfry::testing::check_close(belfry::global_norm(gradients), clip["global_norm"], kRelative, kAbsolute);
  const auto clipped = belfry::clip_by_global_norm(gradients, belfry::testing::to_number(clip["clip_norm"]));
  for (size_t i = 0; i < clipped.size(); ++i) {
    belfry::testing::check_close(clipped[i].gradient, clip["clipped"][i], kRelative, kAbsolute);
  }
}
