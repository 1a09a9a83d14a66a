#include "optimizers/optimizer.h"

#include <cmath>

#include "core/error.h"
#include "core/log.h"
#include "optimizers/adagrad.h"
#include "optimizers/adam.h"
#include "optimizers/clip_gradients.h"
#include "optimizers/ftrl.h"
#include "optimizers/gradient_descent.h"
#include "optimizers/momentum.h"
#include "tests/optimizers/training.h"
#include "tests/support/tower_check.h"
#include "tests/testing.h"

using belfry::Adam;
using belfry::GradientDescent;
using belfry::Optimizer;
using belfry::StepContext;
using belfry::testing::Training;
using Catch::Contains;

namespace {

at::Tensor scalar(double value) { return at::full({}, value, at::kDouble); }

}  // namespace

TEST_CASE("several optimizers work on one graph, with gradients from before the step", "[optimizer]") {
  Training training;
  training.step([](StepContext& context) {
    const at::Tensor c = Training::variable(context, "c", scalar(10));
    const at::Tensor d = Training::variable(context, "d", scalar(2));
    const at::Tensor shared = c * d;
    GradientDescent({.learning_rate = 1, .name = "one"}).minimize(shared, context, {.var_list = {"c"}});
    GradientDescent({.learning_rate = 0.5, .name = "two"}).minimize(shared.square(), context, {.var_list = {"d"}});
    GradientDescent({.learning_rate = 1, .name = "three"}).minimize(shared, context, {.var_list = {"c"}});
  });
  CHECK(training.value("c").item<double>() == 10 - 2 - 2);
  CHECK(training.value("d").item<double>() == 2 - 0.5 * 2 * 20 * 10);
}

TEST_CASE("a variable that no loss reaches is left alone", "[optimizer]") {
  Training training;
  for (int i = 0; i < 2; ++i) {
    training.step([](StepContext& context) {
      const at::Tensor c = Training::variable(context, "c", scalar(10));
      Training::variable(context, "unused", scalar(5));
      Adam({.learning_rate = 1}).minimize(c, context);
    });
  }
  CHECK(training.value("unused").item<double>() == 5);
  CHECK(training.value("c").item<double>() == Approx(8));
  CHECK(training.store.find("training/Adam/unused/m") == nullptr);
}

TEST_CASE("var_list names variables that are there, trainable and listed once", "[optimizer]") {
  Training training;
  const auto with = [&](const std::vector<std::string>& names) {
    training.step([&](StepContext& context) {
      const at::Tensor c = Training::variable(context, "c", scalar(10));
      context.replica().variable(
          "state", [] { return scalar(1); }, false);
      GradientDescent().minimize(c, context, {.var_list = names});
    });
  };
  CHECK_THROWS_WITH(with({"e"}), Contains("'e'"));
  CHECK_THROWS_WITH(with({"state"}), Contains("'state'") && Contains("not trainable"));
  CHECK_THROWS_WITH(with({"c", "c"}), Contains("'c'") && Contains("twice"));
  CHECK_NOTHROW(with({"c"}));
}

TEST_CASE("a loss that is not one floating-point number is refused with the place", "[optimizer]") {
  Training training;
  const auto minimize = [&](const at::Tensor& loss) {
    training.step([&](StepContext& context) { GradientDescent().minimize(loss, context); });
  };
  CHECK_THROWS_WITH(minimize(at::ones({2})), Contains("[2]") && Contains("optimizer_test.cpp"));
  CHECK_THROWS_WITH(minimize(at::ones({1, 1})), Contains("[1, 1]"));
  CHECK_THROWS_WITH(minimize(at::ones({}, at::kLong)), Contains("Long"));
  CHECK_THROWS_WITH(minimize(at::Tensor()), Contains("undefined"));
}

TEST_CASE("a loss that reaches no variable provides no gradients", "[optimizer]") {
  Training training;
  CHECK_THROWS_WITH(training.step([](StepContext& context) {
    Training::variable(context, "c", scalar(10));
    GradientDescent().minimize(at::ones({}), context);
  }),
                    Contains("no gradients are provided") && Contains("minimize of SGD"));
  CHECK_THROWS_WITH(training.step([&](StepContext& context) {
    GradientDescent().apply_gradients({{at::Tensor(), training.store.find("c")}}, context);
  }),
                    Contains("no gradients"));
}

TEST_CASE("gradients that do not fit are refused", "[optimizer]") {
  Training training;
  training.step([](StepContext& context) {
    GradientDescent().minimize(Training::variable(context, "w", at::ones({2})).sum(), context);
  });
  StepContext context(training.replicas.replica(0), {});
  belfry::Variable* w = training.store.find("w");
  CHECK_THROWS_WITH(GradientDescent().apply_gradients({{at::ones({3}), w}}, context),
                    Contains("'w'") && Contains("[2]") && Contains("[3]"));
  CHECK_THROWS_WITH(GradientDescent().apply_gradients({{at::ones({2}), w}, {at::ones({2}), w}}, context),
                    Contains("'w'") && Contains("twice"));
  CHECK_THROWS_WITH(GradientDescent().apply_gradients({{at::ones({2}), nullptr}}, context), Contains("no variable"));
  CHECK(context.updates().empty());
}

TEST_CASE("several towers want a TowerOptimizer", "[optimizer][R12]") {
  Training training;
  StepContext context(training.replicas.replica(0), {.tower_optimizer_wanted = true});
  const at::Tensor c = Training::variable(context, "c", scalar(1));
  CHECK_THROWS_WITH(Adam().minimize(c, context), Contains("tower 0") && Contains("TowerOptimizer") && Contains("Adam"));
  CHECK_THROWS_WITH(Adam().compute_gradients(c, context), Contains("TowerOptimizer"));
  CHECK_THROWS_WITH(Adam().apply_gradients({}, context), Contains("TowerOptimizer"));
}

TEST_CASE("options out of range are refused with their values", "[optimizer]") {
  CHECK_THROWS_WITH(GradientDescent({.learning_rate = -1}), Contains("-1"));
  CHECK_THROWS_WITH(Adam({.learning_rate = std::nan("")}), Contains("nan"));
  CHECK_THROWS_WITH(Adam({.beta1 = 1}), Contains("beta1 is 1"));
  CHECK_THROWS_WITH(Adam({.beta2 = -0.5}), Contains("beta2 is -0.5"));
  CHECK_THROWS_WITH(Adam({.epsilon = -1}), Contains("epsilon"));
  CHECK_THROWS_WITH(belfry::Momentum({.momentum = 1.5}), Contains("momentum is 1.5"));
  CHECK_THROWS_WITH(belfry::Adagrad({.initial_accumulator_value = 0}), Contains("initial_accumulator_value is 0"));
  CHECK_NOTHROW(belfry::Adagrad({.initial_accumulator_value = 0, .epsilon = 1e-7}));
  CHECK_THROWS_WITH(Optimizer(std::shared_ptr<const belfry::UpdateRule>(), 0.1), Contains("no update rule"));
}

TEST_CASE("a learning rate may follow the global step", "[optimizer]") {
  Training training;
  const auto step = [&](belfry::LearningRate rate) {
    training.step([&](StepContext& context) {
      const at::Tensor c = Training::variable(context, "c", scalar(0));
      GradientDescent({.learning_rate = rate}).minimize(c, context);
    });
  };
  const auto schedule = [](int64_t steps) { return steps < 2 ? 1.0 : 0.25; };
  for (int i = 0; i < 3; ++i) step(schedule);
  CHECK(training.value("c").item<double>() == -2.25);
  CHECK_THROWS_WITH(step([](int64_t) { return std::nan(""); }), Contains("learning rate") && Contains("nan"));
  CHECK_THROWS_WITH(step([](int64_t) { return -0.5; }), Contains("is -0.5") && Contains("of 0 or above"));
  CHECK_THROWS_WITH(step([](int64_t) -> double { throw std::runtime_error("no rate"); }), "no rate");
  CHECK(training.value("c").item<double>() == -2.25);
}

TEST_CASE("a rate of 0 is one, except for a rule that divides by it", "[optimizer]") {
  Training training;
  const auto step = [&](const Optimizer& optimizer) {
    training.step(
        [&](StepContext& context) { optimizer.minimize(Training::variable(context, "c", scalar(3)), context); });
  };
  const auto zero = [](int64_t) { return 0.0; };
  step(GradientDescent({.learning_rate = zero}));
  CHECK_THROWS_WITH(step(belfry::Ftrl({.learning_rate = zero})), Contains("Ftrl") && Contains("above 0"));
  CHECK(training.value("c").item<double>() == 3);
}

TEST_CASE("slots are found by variable and slot name", "[optimizer][R12]") {
  Training training;
  const Adam adam({.name = "mine"});
  CHECK(adam.get_slot_names() == std::vector<std::string>{"m", "v"});
  CHECK_FALSE(adam.get_slot(training.store, "c", "m").defined());
  training.step([&](StepContext& context) { adam.minimize(Training::variable(context, "c", scalar(3)), context); });
  CHECK(adam.get_slot(training.store, "c", "m").item<double>() == Approx(0.1));
  CHECK(training.store.find("training/mine/c/v") != nullptr);
  CHECK(training.store.find("belfry/training/mine/iterations")->value().item<int64_t>() == 1);
  CHECK_THROWS_WITH(adam.get_slot(training.store, "c", "momentum"), Contains("'momentum'") && Contains("mine"));
}

TEST_CASE("compute_gradients keeps the graph when asked to", "[optimizer]") {
  Training training;
  training.step([](StepContext& context) {
    const at::Tensor loss = Training::variable(context, "c", scalar(3)).square();
    const GradientDescent optimizer({.learning_rate = 1});
    const auto first = optimizer.compute_gradients(loss, context, {.retain_graph = true});
    auto second = optimizer.compute_gradients(loss, context);
    CHECK(first[0].gradient.item<double>() == 6);
    second[0].gradient = second[0].gradient * 0.5;
    optimizer.apply_gradients(std::move(second), context);
  });
  CHECK(training.value("c").item<double>() == 0);
}

TEST_CASE("combined gradients are the step's in every tower, and are applied once", "[optimizer][R11]") {
  Training training(3);
  training.step(
      [](StepContext& context) {
        const at::Tensor c = Training::variable(context, "c", scalar(10));
        const at::Tensor d = Training::variable(context, "d", scalar(0));
        at::Tensor loss = c * (context.tower_index() + 1);
        if (context.tower_index() == 1) loss = loss + 4 * d;
        const GradientDescent optimizer({.learning_rate = 1});
        auto gradients = optimizer.compute_gradients(loss, context);
        TOWER_CHECK(gradients.size() == 2 && gradients[0].combined);
        TOWER_CHECK(gradients[0].gradient.item<double>() == 6);
        TOWER_CHECK(gradients[1].gradient.item<double>() == 4);
        for (auto& entry : gradients) entry.gradient.mul_(0.5);  // each tower its own copy
        optimizer.apply_gradients(belfry::clip_by_global_norm(std::move(gradients), 100), context);
      },
      1, true);
  CHECK(training.value("c").item<double>() == 7);
  CHECK(training.value("d").item<double>() == -2);
}

TEST_CASE("a tower's contribution scales its gradients", "[optimizer]") {
  Training training(2);
  training.step(
      [](StepContext& context) {
        const at::Tensor c = Training::variable(context, "c", scalar(10));
        GradientDescent({.learning_rate = 1}).minimize(c * (context.tower_index() == 0 ? 3 : 5), context);
      },
      0.5);
  CHECK(training.value("c").item<double>() == 6);
}

TEST_CASE("combined gradients come in the order of one device", "[optimizer][R11]") {
  for (int towers = 1; towers <= 2; ++towers) {
    Training training(towers);
    training.step(
        [](StepContext& context) {
          const at::Tensor c = Training::variable(context, "c", scalar(1));
          const at::Tensor b = Training::variable(context, "b", scalar(1));
          const at::Tensor a = Training::variable(context, "a", scalar(1));
          const GradientDescent optimizer;
          auto gradients = optimizer.compute_gradients(c + a, context, {.var_list = {"c", "b", "a"}});
          TOWER_CHECK(gradients.size() == 3);
          TOWER_CHECK(gradients[0].variable->name() == "c");
          TOWER_CHECK(gradients[1].variable->name() == "b");
          TOWER_CHECK(!gradients[1].gradient.defined());
          TOWER_CHECK(gradients[2].variable->name() == "a");
          optimizer.apply_gradients(std::move(gradients), context);
        },
        1, true);
  }
}
