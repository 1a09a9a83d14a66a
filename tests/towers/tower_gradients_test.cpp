// How gradients of towers come together: TensorFlow's ComputeSum, dense and row-sparse, scaled and absent.
#include "tests/testing.h"
// testing.h has to come first

#include "optimizers/adagrad.h"
#include "tests/towers/abs_model.h"

namespace belfry {
namespace {

using testing::abs_loss;
using testing::column;
using testing::cpus;
using testing::doubles;
using testing::kWeightings;
using testing::scalar_variable;
using testing::TowerRunner;
using testing::towers;

TowerOptimizer sgd(const std::string& name = "") {
  return TowerOptimizer(GradientDescent({.learning_rate = 1.0, .name = name}));
}

// Tower i applies the i-th gradient to a variable of zeros with rate 1: what it becomes is minus the sum.
at::Tensor sum_of(const std::vector<at::Tensor>& gradients, const std::string& name = "") {
  const auto model = [&](const Features&, const Labels&, ModeKeys, ModelContext& ctx) {
    const at::Tensor w = ctx.variable("w", [&] { return at::zeros(gradients[0].sizes(), at::kDouble); });
    Variable* variable = ctx.store().find("w");
    const auto tower = static_cast<size_t>(ctx.tower_index());
    return EstimatorSpec::train(w.sum(), sgd(name).apply_gradients({{gradients[tower], variable}}, ctx));
  };
  TowerRunner runner(replicate_model_fn(ModelFn(model), {.devices = cpus(static_cast<int>(gradients.size()))}));
  const at::Tensor rows = at::zeros({static_cast<int64_t>(gradients.size())});
  runner.train(rows, rows);
  return -runner.value("w");
}

at::Tensor rows_of(std::vector<int64_t> rows, const at::Tensor& values, at::IntArrayRef shape) {
  return at::sparse_coo_tensor(at::tensor(rows, at::kLong).unsqueeze(0), values, shape);
}

TEST_CASE("ComputeSum: vectors", "[towers][optimizer][R11]") {
  CHECK(at::equal(sum_of({doubles({1}), doubles({2}), doubles({3}), doubles({4})}), doubles({10})));
}

TEST_CASE("ComputeSum: tensors", "[towers][optimizer][R11]") {
  CHECK(at::equal(sum_of({doubles({1, 2}), doubles({3, 4})}), doubles({4, 6})));
}

TEST_CASE("ComputeSum: row-sparse sum", "[towers][optimizer][R11]") {
  CHECK(at::equal(sum_of({rows_of({0, 1}, doubles({1, 2}), {2}), rows_of({0, 1}, doubles({3, 4}), {2})}),
                  doubles({4, 6})));
}

TEST_CASE("ComputeSum: row-sparse, higher dimensions", "[towers][optimizer][R11]") {
  const at::Tensor first = at::stack({doubles({1, 5}), doubles({2, 6})});
  const at::Tensor second = at::stack({doubles({3, 7}), doubles({4, 8})});
  CHECK(at::equal(sum_of({rows_of({0, 1}, first, {2, 2}), rows_of({0, 1}, second, {2, 2})}),
                  at::stack({doubles({4, 12}), doubles({6, 14})})));
}

TEST_CASE("ComputeSum: row-sparse, some don't overlap", "[towers][optimizer][R11]") {
  CHECK(at::equal(sum_of({rows_of({0, 3}, doubles({1, 2}), {4}), rows_of({0, 1}, doubles({3, 4}), {4})}),
                  doubles({4, 4, 0, 2})));
}

// There a name is an error, since only dense sums can be given one. Here it is the optimizer that has a name.
TEST_CASE("ComputeSum: no name for row-sparse is needed, the sum of a named optimizer is the same",
          "[towers][optimizer][R11]") {
  const std::vector<at::Tensor> gradients{rows_of({0, 1}, doubles({1, 2}), {2}), rows_of({0, 1}, doubles({3, 4}), {2})};
  CHECK(at::equal(sum_of(gradients, "named"), doubles({4, 6})));
}

TEST_CASE("ComputeSum: row-sparse and dense gradients of one variable are added up in any order",
          "[towers][optimizer][R11]") {
  const at::Tensor sparse = rows_of({1, 1}, doubles({1, 2}), {2});
  CHECK(at::equal(sum_of({sparse, doubles({10, 20})}), doubles({10, 23})));
  CHECK(at::equal(sum_of({doubles({10, 20}), sparse}), doubles({10, 23})));
}

TEST_CASE("TowerOptimizer: a row that several towers looked up counts once, by the square of its sum",
          "[towers][optimizer][R11]") {
  const TowerOptimizer optimizer(Adagrad({.learning_rate = 1.0, .initial_accumulator_value = 0.1}));
  const auto model = [&](const Features& features, const Labels&, ModeKeys, ModelContext& ctx) {
    const at::Tensor table = ctx.variable("table", [] { return at::zeros({4, 1}, at::kDouble); });
    const at::Tensor loss = at::embedding(table, features.tensor(), -1, false, /*sparse=*/true).sum();
    return EstimatorSpec::train(loss, optimizer.minimize(loss, ctx));
  };
  TowerRunner runner(replicate_model_fn(ModelFn(model), {.loss_reduction = LossReduction::kSum, .devices = cpus(2)}));
  const at::Tensor ids = at::tensor({2, 0, 2, 2}, at::kLong);
  runner.train(ids, Labels());
  CHECK(at::allclose(optimizer.get_slot(runner.store(), "table", "accumulator"), column({1.1, .1, 9.1, .1})));
  CHECK(runner.value("table")[1].item<double>() == 0);
}

TEST_CASE("TowerOptimizer: compute_gradients scales like minimize, under the original's weighting too",
          "[towers][optimizer][R3][R11]") {
  const auto model = [](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
    const at::Tensor loss = abs_loss(features, labels, scalar_variable(ctx, "c", 10));
    const TowerOptimizer optimizer = sgd();
    return EstimatorSpec::train(loss, optimizer.apply_gradients(optimizer.compute_gradients(loss, ctx), ctx));
  };
  for (const TowerWeighting weighting : kWeightings) {
    for (const LossReduction mean :
         {LossReduction::kMean, LossReduction::kSumOverBatchSize, LossReduction::kSumByNonzeroWeights}) {
      TowerRunner runner(towers(model, 2, mean, weighting));
      CHECK(runner.train(column({1, 2}), column({1, 2})) == 13.5);
      CHECK(runner.number("c") == 8.5);
    }
    TowerRunner sum(towers(model, 2, LossReduction::kSum, weighting));
    CHECK(sum.train(column({1, 2}), column({1, 2})) == 27);
    CHECK(sum.number("c") == 7);
  }
}

TEST_CASE("TowerOptimizer: apply_gradients without a gradient in any tower is an error", "[towers][optimizer][R11]") {
  const auto model = [](bool by_loss) {
    return [=](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
      const at::Tensor loss = abs_loss(features, labels, scalar_variable(ctx, "c", 10));
      const TowerOptimizer optimizer = sgd();
      const GradientsAndVariables gradients = by_loss ? optimizer.compute_gradients(loss.detach(), ctx)
                                                      : GradientsAndVariables{{at::Tensor(), ctx.store().find("c")}};
      return EstimatorSpec::train(loss, optimizer.apply_gradients(gradients, ctx));
    };
  };
  for (const TowerWeighting weighting : kWeightings) {
    for (const bool by_loss : {false, true}) {
      TowerRunner runner(towers(model(by_loss), 2, LossReduction::kSum, weighting));
      CHECK_FAILS(runner.train(column({1, 2}), column({1, 2})), ErrorKind::kInvalidArgument, "apply_gradients");
      CHECK(runner.number("c") == 10);
    }
  }
}

}  // namespace
}  // namespace belfry
