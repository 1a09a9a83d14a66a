// Training in a loop of one's own under a strategy, against reference/distribute.json.
#include <ATen/ATen.h>

#include "distribute/step_context.h"
#include "optimizers/adagrad.h"
#include "optimizers/adam.h"
#include "optimizers/gradient_descent.h"
#include "optimizers/momentum.h"
#include "tests/distribute/distribute_json.h"
#include "tests/distribute/strategies.h"
#include "tests/support/check_fails.h"

namespace belfry {
namespace {

using testing::Json;
using testing::strategy_named;
using testing::tensor_of;

Optimizer optimizer_named(const std::string& name, double rate) {
  if (name == "sgd") return GradientDescent({.learning_rate = rate});
  if (name == "momentum") return Momentum({.learning_rate = rate, .momentum = 0.9});
  if (name == "adagrad") return Adagrad({.learning_rate = rate, .initial_accumulator_value = 0.1, .epsilon = 1e-7});
  REQUIRE(name == "adam");
  return Adam({.learning_rate = rate, .epsilon = 1e-7});
}

at::Tensor variable(const std::string& name, const at::Tensor& initial) {
  return StepContext::current()->replica().variable(
      name, [&] { return initial; }, true);
}

// Pieces of ceil(m / n) rows, the last ones short or empty.
PerReplica<at::Tensor> pieces_of(const at::Tensor& batch, int replicas) {
  const int64_t rows = batch.size(0), piece = (rows + replicas - 1) / replicas;
  std::vector<at::Tensor> pieces;
  for (int64_t i = 0; i < replicas; ++i) {
    const int64_t start = std::min(i * piece, rows);
    pieces.push_back(batch.narrow(0, start, std::min(piece, rows - start)));
  }
  return PerReplica<at::Tensor>(std::move(pieces));
}

class Training {
 public:
  Training(const Json& file, const Json& reference)
      : file_(file),
        replicas_averaged_(reference.at("loss") == "replica_mean_then_mean"),
        global_batch_(reference.at("global_batch")),
        strategy_(strategy_named(reference.at("strategy"))),
        optimizer_(optimizer_named(reference.at("optimizer"), file.at("learning_rate"))) {
    const at::Tensor x = tensor_of(file.at("x")), y = tensor_of(file.at("y"));
    rows_ = reference.at("uneven").get<bool>() ? x.size(0) : 36;
    x_ = x.narrow(0, 0, rows_);
    y_ = y.narrow(0, 0, rows_);
  }

  Strategy& strategy() { return *strategy_; }

  // The replicas' losses of the next step.
  PerReplica<at::Tensor> step() {
    const int64_t start = next_, size = std::min(global_batch_, rows_ - start);
    next_ = start + size == rows_ ? 0 : start + size;
    const int replicas = strategy_->num_replicas_in_sync();
    return strategy_->run([&](const at::Tensor& x, const at::Tensor& y) { return replica_step(x, y); },
                          pieces_of(x_.narrow(0, start, size), replicas),
                          pieces_of(y_.narrow(0, start, size), replicas));
  }

 private:
  at::Tensor replica_step(const at::Tensor& x, const at::Tensor& y) {
    StepContext& context = *StepContext::current();
    const at::Tensor w = variable("w", tensor_of(file_.at("w0"))), b = variable("b", tensor_of(file_.at("b0")));
    const at::Tensor errors = (at::mv(x, w) + b - y).square();
    if (!replicas_averaged_) {
      const at::Tensor loss = errors.sum() / static_cast<double>(global_batch_);
      optimizer_.minimize(loss, context);
      return loss.detach();
    }
    const at::Tensor loss = errors.mean();
    optimizer_.minimize(loss / get_replica_context()->num_replicas_in_sync(), context);
    return loss.detach();
  }

  const Json& file_;
  bool replicas_averaged_;
  int64_t global_batch_;
  std::unique_ptr<Strategy> strategy_;
  Optimizer optimizer_;
  at::Tensor x_, y_;
  int64_t rows_ = 0;
  int64_t next_ = 0;
};

TEST_CASE("a loop of one's own trains as TensorFlow's under each strategy", "[strategy][reference][S28][S30]") {
  const Json all = testing::reference("distribute");
  const Json& file = all.at("train");
  for (const Json& reference : file.at("cases")) {
    INFO(reference.at("strategy") << " " << reference.at("loss") << " " << reference.at("optimizer") << " "
                                  << reference.at("uneven"));
    Training training(file, reference);
    const bool averaged = reference.at("loss") == "replica_mean_then_mean";
    for (const Json& step : reference.at("result").at("steps")) {
      const auto losses = training.step();
      for (size_t i = 0; i < losses.size(); ++i) {
        testing::check_close(losses[i].to(at::kDouble), step.at("replica_loss")[i], 1e-4);
      }
      const at::Tensor reduced = training.strategy().reduce(averaged ? "MEAN" : "SUM", losses);
      testing::check_close(reduced.to(at::kDouble), step.at("reduced_loss"), 1e-4);
    }
    // 1e-4: the reference's own tolerance for ten steps of float32.
    for (const char* name : {"w", "b"}) {
      const Json& copies = reference.at("result").at(name);  // of equal values
      testing::check_close(training.strategy().store().find(name)->value().flatten(), copies[0], 1e-4);
    }
    CHECK(training.strategy().store().global_step() == 10);
  }
}

TEST_CASE("a run without an optimizer is no step, and a failed one moves nothing", "[strategy]") {
  const auto strategy = strategy_named("mirrored_2");
  const auto value = [&] {
    strategy->run([] { return variable("w", at::ones({2})); });
    return strategy->store().find("w")->value().clone();
  };
  CHECK(value().equal(at::ones({2})));
  CHECK(strategy->store().global_step() == 0);
  const auto failing = [&] {
    strategy->run([] {
      const at::Tensor w = variable("w", at::ones({2}));
      GradientDescent({.learning_rate = 1}).minimize(w.sum(), *StepContext::current());
      if (testing::replica_id() == 1) fail(ErrorKind::kOutOfRange, "too far");
    });
  };
  CHECK_FAILS((failing(), 0), ErrorKind::kOutOfRange, "too far");
  CHECK(value().equal(at::ones({2})));
  CHECK(strategy->store().global_step() == 0);
}

TEST_CASE("replicas that call different optimizers are an error that names both", "[strategy]") {
  const auto strategy = strategy_named("mirrored_2");
  const auto call = [&] {
    strategy->run([] {
      const at::Tensor loss = variable("w", at::ones({2})).sum();
      if (testing::replica_id() == 0) GradientDescent({.learning_rate = 1}).minimize(loss, *StepContext::current());
    });
  };
  CHECK_FAILS((call(), 0), ErrorKind::kFailedPrecondition, "optimizer calls");
  CHECK(strategy->store().find("w")->value().equal(at::ones({2})));
}

TEST_CASE("gradients changed by hand are added up over replicas", "[strategy]") {
  const auto strategy = strategy_named("mirrored_2");
  strategy->run([] {
    StepContext& context = *StepContext::current();
    const GradientDescent optimizer({.learning_rate = 1});
    const at::Tensor loss = variable("w", at::zeros({2})).sum() * (testing::replica_id() + 1);
    GradientsAndVariables gradients = optimizer.compute_gradients(loss, context);
    for (GradientAndVariable& entry : gradients) {
      // Of all replicas, so that each clips what is applied; then each applies its share.
      entry.gradient = get_replica_context()->all_reduce("sum", entry.gradient).clamp_max(2.0) / 2;
    }
    optimizer.apply_gradients(gradients, context);
  });
  CHECK(strategy->store().find("w")->value().equal(at::full({2}, -2.0)));
}

}  // namespace
}  // namespace belfry
