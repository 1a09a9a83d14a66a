#include "towers/tower_optimizer.h"

#include <torch/csrc/autograd/custom_function.h>

#include <atomic>
#include <stdexcept>

#include "estimator/losses/losses.h"
#include "optimizers/adagrad.h"
#include "optimizers/adam.h"
#include "optimizers/clip_gradients.h"
#include "tests/testing.h"
#include "tests/towers/abs_model.h"

namespace belfry {
namespace {

using testing::abs_loss;
using testing::column;
using testing::cpus;
using testing::doubles;
using testing::scalar_variable;
using testing::TowerRunner;

// What a tower does with its optimizers, given loss(c) = sum |labels - features * c| and the same of d.
struct Losses {
  at::Tensor of_c;
  at::Tensor of_d;
};
using Body = std::function<TrainOp(const Losses&, ModelContext&)>;

ModelFn model_with(Body body) {
  return [body](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
    const Losses losses{abs_loss(features, labels, scalar_variable(ctx, "c", 10)),
                        abs_loss(features, labels, scalar_variable(ctx, "d", 2))};
    const TrainOp train_op = body(losses, ctx);
    return EstimatorSpec::train(losses.of_c + losses.of_d, train_op);
  };
}

TowerRunner two_towers(Body body, LossReduction reduction = LossReduction::kSum,
                       TowerWeighting weighting = TowerWeighting::kExact, int count = 2) {
  return TowerRunner(replicate_model_fn(model_with(std::move(body)),
                                        {.loss_reduction = reduction, .devices = cpus(count), .weighting = weighting}));
}

TowerOptimizer sgd(const std::string& name = "") {
  return TowerOptimizer(GradientDescent({.learning_rate = 1.0, .name = name}));
}

const at::Tensor kOneTwo = column({1, 2});
const TowerWeighting kWeightings[] = {TowerWeighting::kExact, TowerWeighting::kTensorFlow};

TEST_CASE("Two optimizers: train, on one loss, with the values from before the step", "[towers][optimizer][R12][R13]") {
  for (const TowerWeighting weighting : kWeightings) {
    TowerRunner runner = two_towers(
        [](const Losses& losses, ModelContext& ctx) {
          ctx.variable(
              "counter", [] { return at::zeros({}, at::kLong); }, /*trainable=*/false);
          ctx.assign_add("counter", at::ones({}, at::kLong));
          TowerOptimizer first = sgd();
          TowerOptimizer second(Adam({.learning_rate = 1.0}));
          const TrainOp applied = first.apply_gradients(
              first.compute_gradients(losses.of_c, ctx, {.var_list = {"c"}, .retain_graph = true}), ctx);
          return group({applied, second.minimize(losses.of_c, ctx, {.var_list = {"c"}})});
        },
        LossReduction::kSum, weighting);
    runner.train(kOneTwo, kOneTwo);
    CHECK(runner.number("c") == Approx(6).margin(1e-6));
    CHECK(runner.number("d") == 2);
    CHECK(runner.value("counter").item<int64_t>() == 2);
    CHECK(runner.store().global_step() == 1);
  }
}

TEST_CASE("Two losses: train, each with its variables", "[towers][optimizer][R12][R13]") {
  for (const TowerWeighting weighting : kWeightings) {
    TowerRunner runner = two_towers(
        [](const Losses& losses, ModelContext& ctx) {
          return group({sgd().minimize(losses.of_c, ctx, {.var_list = {"c"}}),
                        sgd("other").minimize(losses.of_d, ctx, {.var_list = {"d"}})});
        },
        LossReduction::kSum, weighting);
    CHECK(runner.train(kOneTwo, kOneTwo) == 30);
    CHECK(runner.number("c") == 7);
    CHECK(runner.number("d") == -1);
  }
}

TEST_CASE("TowerOptimizer: each tower may move other variables in the same call", "[towers][optimizer][R13]") {
  for (const TowerWeighting weighting : kWeightings) {
    TowerRunner runner = two_towers(
        [](const Losses& losses, ModelContext& ctx) {
          const char* mine = ctx.tower_index() == 0 ? "c" : "d";
          return sgd().minimize(losses.of_c + losses.of_d, ctx, {.var_list = {mine}});
        },
        LossReduction::kSum, weighting);
    runner.train(kOneTwo, kOneTwo);
    CHECK(runner.number("c") == 10 - 1);  // the gradient of tower 0's row alone
    CHECK(runner.number("d") == 2 - 2);   // and of tower 1's
    CHECK(runner.store().global_step() == 1);
  }
}

// So many minimize calls in tower 0 and tower 1.
Body calls(int first, int second) {
  return [=](const Losses& losses, ModelContext& ctx) {
    std::vector<TrainOp> ops;
    const int count = ctx.tower_index() == 0 ? first : second;
    for (int i = 0; i < count; ++i) ops.push_back(sgd("o" + std::to_string(i)).minimize(losses.of_c, ctx));
    return group(ops);
  };
}

TEST_CASE("Two losses: different optimizer calls, an error that names tower and call", "[towers][optimizer][R13]") {
  const std::pair<int, int> all[] = {{2, 1}, {1, 0}, {1, 2}, {1, 3}, {0, 1}, {0, 2}, {3, 1}, {2, 0}};
  for (const TowerWeighting weighting : kWeightings) {
    for (const auto& [first, second] : all) {
      INFO(first << " calls in tower 0, " << second << " in tower 1");
      TowerRunner runner = two_towers(calls(first, second), LossReduction::kSumByNonzeroWeights, weighting);
      const auto failed = testing::failure_of([&] { runner.train(kOneTwo, kOneTwo); });
      REQUIRE(failed.has_value());
      CHECK(failed->kind == ErrorKind::kFailedPrecondition);
      CHECK_THAT(failed->message, Catch::Contains("same optimizer calls"));
      CHECK_THAT(failed->message, Catch::Contains("of tower 1") && Catch::Contains("nothing"));
      CHECK(runner.number("c") == 10);
    }
  }
  TowerRunner same = two_towers(calls(2, 2));
  same.train(kOneTwo, kOneTwo);
  CHECK(same.number("c") == 4);
}

TEST_CASE("TowerOptimizer: the same calls in another order are an error", "[towers][optimizer][R13]") {
  TowerRunner runner = two_towers([](const Losses& losses, ModelContext& ctx) {
    const char* names[] = {"a", "b"};
    const bool turned = ctx.tower_index() == 1;
    const TrainOp first = sgd(names[turned]).minimize(losses.of_c, ctx);
    return group({first, sgd(names[!turned]).minimize(losses.of_c, ctx)});
  });
  CHECK_FAILS(runner.train(kOneTwo, kOneTwo), ErrorKind::kFailedPrecondition, "call 1 of tower 0 is minimize of a");
}

TEST_CASE("TowerOptimizer: compute_gradients in one tower only ends in words, not in a hang",
          "[towers][optimizer][R13]") {
  TowerRunner runner = two_towers([](const Losses& losses, ModelContext& ctx) {
    TowerOptimizer optimizer = sgd();
    if (ctx.tower_index() == 1) return optimizer.minimize(losses.of_c, ctx);
    return optimizer.apply_gradients(optimizer.compute_gradients(losses.of_c, ctx), ctx);
  });
  CHECK_FAILS(runner.train(kOneTwo, kOneTwo), ErrorKind::kFailedPrecondition, "compute_gradients");
}

TEST_CASE("Fail to wrap: train, a bare optimizer under several towers", "[towers][optimizer][R12]") {
  const auto bare = [](const Losses& losses, ModelContext& ctx) {
    return GradientDescent({.learning_rate = 1.0}).minimize(losses.of_c, ctx);
  };
  TowerRunner runner = two_towers(bare);
  CHECK_FAILS(runner.train(kOneTwo, kOneTwo), ErrorKind::kFailedPrecondition,
              "wrap the optimizer: TowerOptimizer optimizer(SGD(...))");
  TowerRunner alone = two_towers(bare, LossReduction::kSum, TowerWeighting::kExact, 1);
  alone.train(kOneTwo, kOneTwo);
  CHECK(alone.number("c") == 7);
}

TEST_CASE("TowerOptimizer: asking a wrapper for its name does not let a bare optimizer pass",
          "[towers][optimizer][R12]") {
  TowerRunner named = two_towers([](const Losses& losses, ModelContext& ctx) {
    if (sgd().name().empty()) throw std::logic_error("no name");
    return GradientDescent({.learning_rate = 1.0}).minimize(losses.of_c, ctx);
  });
  CHECK_FAILS(named.train(kOneTwo, kOneTwo), ErrorKind::kFailedPrecondition, "wrap the optimizer");
  TowerRunner mixed = two_towers([](const Losses& losses, ModelContext& ctx) {
    const TrainOp wrapped = sgd().minimize(losses.of_c, ctx);
    return group({wrapped, GradientDescent({.learning_rate = 1.0, .name = "bare"}).minimize(losses.of_c, ctx)});
  });
  CHECK_FAILS(mixed.train(kOneTwo, kOneTwo), ErrorKind::kFailedPrecondition, "wrap the optimizer");
  CHECK(mixed.number("c") == 10);
}

TEST_CASE("TowerOptimizer: gradients that the user made are added up, whatever the reduction",
          "[towers][optimizer][R11][R12]") {
  for (const TowerWeighting weighting : kWeightings) {
    for (const LossReduction reduction : {LossReduction::kSum, LossReduction::kMean}) {
      TowerRunner runner = two_towers(
          [](const Losses&, ModelContext& ctx) {
            Variable* c = ctx.store().find("c");
            const at::Tensor own = at::full({}, ctx.tower_index() == 0 ? 3.0 : 7.0, at::kDouble);
            return sgd().apply_gradients({{own, c}}, ctx);
          },
          reduction, weighting);
      runner.train(kOneTwo, kOneTwo);
      CHECK(runner.number("c") == 0);
    }
  }
}

TEST_CASE("TowerOptimizer: a variable with a gradient in some towers gets the sum of those",
          "[towers][optimizer][R11]") {
  for (const bool by_hand : {false, true}) {
    TowerRunner runner = two_towers([by_hand](const Losses& losses, ModelContext& ctx) {
      TowerOptimizer optimizer = sgd();
      const at::Tensor& loss = ctx.tower_index() == 0 ? losses.of_c : losses.of_d;
      if (!by_hand) return optimizer.minimize(loss, ctx);
      return optimizer.apply_gradients(optimizer.compute_gradients(loss, ctx), ctx);
    });
    runner.train(column({3, 4}), column({3, 4}));
    CHECK(runner.number("c") == 7);
    CHECK(runner.number("d") == -2);
  }
}

TEST_CASE("TowerOptimizer: a loss that reaches no variable in any tower is an error", "[towers][optimizer][R11]") {
  TowerRunner runner =
      two_towers([](const Losses& losses, ModelContext& ctx) { return sgd().minimize(losses.of_c.detach(), ctx); });
  CHECK_FAILS(runner.train(kOneTwo, kOneTwo), ErrorKind::kInvalidArgument, "no gradients are provided");
  TowerRunner one_of_two = two_towers([](const Losses& losses, ModelContext& ctx) {
    return sgd().minimize(ctx.tower_index() == 0 ? losses.of_c : losses.of_c.detach(), ctx);
  });
  one_of_two.train(kOneTwo, kOneTwo);
  CHECK(one_of_two.number("c") == 9);
}

TEST_CASE("TowerOptimizer: an update that is left out of the train_op is an error", "[towers][optimizer][R12]") {
  for (const int count : {1, 2}) {
    TowerRunner runner = two_towers(
        [](const Losses& losses, ModelContext& ctx) {
          sgd("forgotten").minimize(losses.of_d, ctx);
          return sgd().minimize(losses.of_c, ctx);
        },
        LossReduction::kSum, TowerWeighting::kExact, count);
    CHECK_FAILS(runner.train(kOneTwo, kOneTwo), ErrorKind::kInvalidArgument, "minimize of forgotten");
  }
}

// A rule in whose updates the order matters: v = v / 2 + gradient * rate.
class Halving : public UpdateRule {
 public:
  std::string name() const override { return "Halving"; }
  void apply(const UpdateArguments& arguments, UpdateLists& lists) const override {
    for (size_t i = 0; i < lists.parameters.size(); ++i) {
      lists.parameters[i].div_(2).add_(lists.gradients[i], arguments.learning_rate);
    }
  }
};

TEST_CASE("TowerOptimizer: updates are applied in the order of the train_op, as on one device",
          "[towers][optimizer][R12][R13]") {
  for (const bool turned : {false, true}) {
    double results[2];
    for (const int count : {1, 2}) {
      TowerRunner runner = two_towers(
          [turned](const Losses& losses, ModelContext& ctx) {
            const TowerOptimizer halving(Optimizer(std::make_shared<Halving>(), 1.0));
            const TrainOp first = halving.minimize(losses.of_c, ctx, {.var_list = {"c"}});
            const TrainOp second = sgd().minimize(losses.of_c, ctx, {.var_list = {"c"}});
            return turned ? group({second, first}) : group({first, second});
          },
          LossReduction::kSum, TowerWeighting::kExact, count);
      runner.train(kOneTwo, kOneTwo);
      results[count - 1] = runner.number("c");
    }
    CHECK(results[0] == (turned ? 6.5 : 5.0));
    CHECK(results[1] == results[0]);
  }
}

TEST_CASE("TowerOptimizer: name, slots and rate are those of the inner optimizer", "[towers][optimizer][R12]") {
  const TowerOptimizer optimizer(Adagrad({.learning_rate = 0.5, .name = "mine"}));
  CHECK(optimizer.name() == "mine");
  CHECK(optimizer.learning_rate(3) == 0.5);
  CHECK(optimizer.get_slot_names() == std::vector<std::string>{"accumulator"});
  TowerRunner runner = two_towers([&](const Losses& losses, ModelContext& ctx) {
    return optimizer.minimize(losses.of_c, ctx, {.var_list = {"c"}});
  });
  CHECK_FALSE(optimizer.get_slot(runner.store(), "c", "accumulator").defined());
  runner.train(kOneTwo, kOneTwo);
  // One slot, moved once by the square of the sum.
  CHECK(optimizer.get_slot(runner.store(), "c", "accumulator").item<double>() == Approx(9.1));
  CHECK_FAILS(optimizer.get_slot(runner.store(), "c", "m"), ErrorKind::kNotFound, "m");
}

TEST_CASE("TowerOptimizer: its variables are those of the inner optimizer", "[towers][optimizer][R12]") {
  const TowerOptimizer adam(Adam({.learning_rate = 0.5, .name = "mine"}));
  TowerRunner runner = two_towers([&](const Losses& losses, ModelContext& ctx) {
    return group({adam.minimize(losses.of_c, ctx, {.var_list = {"c"}}),
                  sgd().minimize(losses.of_d, ctx, {.var_list = {"d"}}),
                  TowerOptimizer(Adam({.name = "other"})).minimize(losses.of_d, ctx, {.var_list = {"d"}})});
  });
  CHECK(adam.variables(runner.store()).empty());
  runner.train(kOneTwo, kOneTwo);
  const auto names_of = [&](const Optimizer& optimizer) {
    std::vector<std::string> names;
    for (const Variable* variable : optimizer.variables(runner.store())) names.push_back(variable->name());
    return names;
  };
  CHECK(names_of(adam) ==
        std::vector<std::string>{"training/mine/c/m", "training/mine/c/v", "belfry/training/mine/iterations"});
  CHECK(names_of(Adam({.name = "mine"})) == names_of(adam));
  CHECK(names_of(sgd()).empty());
}

TEST_CASE("TowerOptimizer: a function that makes the optimizer is called once, at first need",
          "[towers][optimizer][R12]") {
  std::atomic<int> made{0};
  const TowerOptimizer optimizer([&]() -> Optimizer {
    ++made;
    return GradientDescent({.learning_rate = 1.0});
  });
  const TowerOptimizer copy = optimizer;
  CHECK(made == 0);
  TowerRunner runner =
      two_towers([&](const Losses& losses, ModelContext& ctx) { return optimizer.minimize(losses.of_c, ctx); });
  runner.train(kOneTwo, kOneTwo);
  runner.train(kOneTwo, kOneTwo);
  CHECK(copy.name() == "SGD");
  CHECK(made == 1);
  CHECK_FAILS(TowerOptimizer(std::function<Optimizer()>()).name(), ErrorKind::kInvalidArgument, "absent");
}

TEST_CASE("TowerOptimizer: outside replicate_model_fn it is the inner optimizer", "[towers][optimizer][R12]") {
  TowerRunner runner(testing::abs_model);
  CHECK(runner.train(kOneTwo, kOneTwo) == 27);
  CHECK(runner.number("c") == 7);
}

TEST_CASE("TowerOptimizer: compute_gradients gives every tower the gradients of the step",
          "[towers][optimizer][R11][R12]") {
  std::atomic<double> norms[3] = {0, 0, 0};
  TowerRunner runner = two_towers(
      [&](const Losses& losses, ModelContext& ctx) {
        TowerOptimizer optimizer = sgd();
        const auto gradients = optimizer.compute_gradients(losses.of_c, ctx);
        norms[ctx.tower_index()] = global_norm(gradients).item<double>();
        return optimizer.apply_gradients(clip_by_global_norm(gradients, 2), ctx);
      },
      LossReduction::kSum, TowerWeighting::kExact, 3);
  runner.train(column({1, 2, 3}), column({1, 2, 3}));
  for (const auto& norm : norms) CHECK(norm == Approx(6));
  CHECK(runner.number("c") == Approx(8));
}

// --- A failure in backward ---

struct Boom : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct FailingBackward : torch::autograd::Function<FailingBackward> {
  static at::Tensor forward(torch::autograd::AutogradContext*, const at::Tensor& x) { return x.clone(); }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext*, torch::autograd::variable_list) {
    throw Boom("in backward");
  }
};

TEST_CASE("TowerOptimizer: a backward pass that throws leaves the step undone", "[towers][optimizer][failure]") {
  for (const bool by_hand : {false, true}) {
    std::atomic<int> failing{1};
    TowerRunner runner = two_towers(
        [&](const Losses& losses, ModelContext& ctx) {
          TowerOptimizer optimizer = sgd();
          at::Tensor loss = losses.of_c;
          if (ctx.tower_index() == failing) loss = FailingBackward::apply(loss);
          if (!by_hand) return optimizer.minimize(loss, ctx);
          return optimizer.apply_gradients(optimizer.compute_gradients(loss, ctx), ctx);
        },
        LossReduction::kSum, TowerWeighting::kExact, 3);
    const at::Tensor x = column({1, 1, 1});
    for (const int tower : {1, 0, 2}) {
      failing = tower;
      CHECK_THROWS_AS(runner.train(x, x), Boom);
      CHECK(runner.number("c") == 10);
    }
    failing = -1;
    runner.train(x, x);
    CHECK(runner.number("c") == 7);
    CHECK(runner.store().global_step() == 1);
  }
}

}  // namespace
}  // namespace belfry
