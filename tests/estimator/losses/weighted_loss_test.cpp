#include "estimator/losses/weighted_loss.h"

#include <torch/csrc/autograd/autograd.h>

#include "tests/testing.h"

#include <cmath>

#include "core/error.h"
#include "core/log.h"
#include "distribute/replica_set.h"
#include "estimator/losses/losses.h"

using namespace belfry;
using Catch::Contains;

namespace {

// A step of one replica, outside any Estimator.
struct Step {
  VariableStore store{1};
  ReplicaSet replicas{store};
  StepContext context{replicas.replica(0), {}};
};

at::Tensor doubles(const std::vector<double>& values) { return torch::tensor(values, torch::kDouble); }

double reduced(const at::Tensor& values, LossReduction reduction, const at::Tensor& weights = {}) {
  Step step;
  return losses::compute_weighted_loss(values, step.context, {.weights = weights, .reduction = reduction})
      .item<double>();
}

}  // namespace

TEST_CASE("reductions without weights", "[losses]") {
  const at::Tensor values = doubles({1, 2, 6});
  CHECK(reduced(values, LossReduction::kSum) == 9);
  CHECK(reduced(values, LossReduction::kMean) == 3);
  CHECK(reduced(values, LossReduction::kSumOverBatchSize) == 3);
  CHECK(reduced(values, LossReduction::kSumByNonzeroWeights) == 3);
  CHECK(reduced(values, LossReduction::kSumOverNonzeroWeights) == 3);
  Step step;
  CHECK(torch::equal(losses::compute_weighted_loss(values, step.context, {.reduction = LossReduction::kNone}), values));
}

TEST_CASE("reductions with a weight for each entry", "[losses]") {
  const at::Tensor values = doubles({1, 2, 6, 5});
  const at::Tensor weights = doubles({2, 0, 0.5, 1});  // weighted sum 2 + 3 + 5
  CHECK(reduced(values, LossReduction::kSum, weights) == 10);
  CHECK(reduced(values, LossReduction::kMean, weights) == Approx(10 / 3.5));
  CHECK(reduced(values, LossReduction::kSumOverBatchSize, weights) == 2.5);
  CHECK(reduced(values, LossReduction::kSumByNonzeroWeights, weights) == Approx(10.0 / 3));
  Step step;
  const LossOptions none{.weights = weights, .reduction = LossReduction::kNone};
  CHECK(torch::equal(losses::compute_weighted_loss(values, step.context, none), doubles({2, 0, 3, 5})));
}

TEST_CASE("a weight that is broadcast counts once for every entry it reaches", "[losses]") {
  const at::Tensor values = doubles({1, 2, 3, 4, 5, 6}).view({2, 3});
  const at::Tensor rows = doubles({2, 0}).view({2, 1});  // weighted sum 12
  CHECK(reduced(values, LossReduction::kSum, rows) == 12);
  CHECK(reduced(values, LossReduction::kMean, rows) == 2);
  CHECK(reduced(values, LossReduction::kSumOverBatchSize, rows) == 2);
  CHECK(reduced(values, LossReduction::kSumByNonzeroWeights, rows) == 4);
  const at::Tensor scalar = torch::tensor(3.0, torch::kDouble);
  CHECK(reduced(values, LossReduction::kSum, scalar) == 63);
  CHECK(reduced(values, LossReduction::kMean, scalar) == Approx(3.5));
  CHECK(reduced(values, LossReduction::kSumByNonzeroWeights, scalar) == Approx(10.5));
}

TEST_CASE("weights of [n] fit losses of [n, 1] and the reverse, row by row", "[losses]") {
  const at::Tensor weights = doubles({1, 0, 3});
  const at::Tensor values = doubles({1, 2, 4});
  for (const auto& [v, w] : {std::pair(values.unsqueeze(1), weights), std::pair(values, weights.unsqueeze(1)),
                             std::pair(values.unsqueeze(1), weights.unsqueeze(1))}) {
    CHECK(reduced(v, LossReduction::kSum, w) == 13);
    CHECK(reduced(v, LossReduction::kSumByNonzeroWeights, w) == 6.5);
  }
}

TEST_CASE("weights that do not fit are refused with both shapes", "[losses]") {
  const at::Tensor values = torch::ones({3, 2});
  CHECK_THROWS_WITH(reduced(values, LossReduction::kSum, torch::ones({3})), Contains("[3]") && Contains("[3, 2]"));
  CHECK_THROWS_WITH(reduced(values, LossReduction::kSum, torch::ones({2, 2})), Contains("[2, 2]"));
  CHECK_THROWS_WITH(reduced(torch::ones({1, 2}), LossReduction::kSum, values), Contains("[1, 2]"));
  CHECK_THROWS_WITH(reduced(values, static_cast<LossReduction>(17)), Contains("17"));
}

TEST_CASE("a zero denominator gives loss 0 and gradient 0", "[losses]") {
  for (const LossReduction reduction : {LossReduction::kMean, LossReduction::kSumByNonzeroWeights}) {
    Step step;
    const at::Tensor values = doubles({1, 2}).requires_grad_();
    const at::Tensor loss =
        losses::compute_weighted_loss(values, step.context, {.weights = torch::zeros({2}), .reduction = reduction});
    CHECK(loss.item<double>() == 0);
    CHECK(torch::equal(torch::autograd::grad({loss}, {values})[0], torch::zeros({2}, torch::kDouble)));
  }
  CHECK(reduced(torch::zeros({0}), LossReduction::kSumOverBatchSize) == 0);
  CHECK(reduced(torch::zeros({0}), LossReduction::kSumByNonzeroWeights) == 0);
}

TEST_CASE("the gradient of an entry is its weight over the denominator", "[losses]") {
  Step step;
  const at::Tensor values = doubles({1, 2, 6}).requires_grad_();
  const at::Tensor weights = doubles({2, 0, 1});
  const at::Tensor loss = losses::compute_weighted_loss(values, step.context, {.weights = weights});
  CHECK(torch::equal(torch::autograd::grad({loss}, {values})[0], doubles({1, 0, 0.5})));
}

TEST_CASE("a mean of one's own divides by the weights, and a penalty counts as it is", "[losses]") {
  Step step;
  CHECK(losses::mean(doubles({1, 3}), step.context).item<double>() == 2);
  CHECK(losses::mean(doubles({1, 3}), step.context, doubles({3, 1})).item<double>() == 1.5);
  CHECK(losses::penalty(doubles({4}), step.context).item<double>() == 4);
}

TEST_CASE("each loss is the weighted mean of its formula", "[losses]") {
  Step step;
  StepContext& ctx = step.context;
  const LossOptions w{.weights = doubles({1, 3}), .reduction = LossReduction::kMean};
  const at::Tensor labels = doubles({1, 0});
  const at::Tensor y = doubles({0.5, 2});
  const auto weighted = [](double a, double b) { return Approx((a + 3 * b) / 4).epsilon(1e-12); };
  CHECK(losses::mean_squared_error(labels, y, ctx, w).item<double>() == weighted(0.25, 4));
  CHECK(losses::absolute_difference(labels, y, ctx, w).item<double>() == weighted(0.5, 2));
  CHECK(losses::hinge_loss(labels, y, ctx, w).item<double>() == weighted(0.5, 3));
  CHECK(losses::huber_loss(labels, y, ctx, {w, 1.0}).item<double>() == weighted(0.125, 1.5));
  CHECK(losses::huber_loss(labels, y, ctx, {w, 3.0}).item<double>() == weighted(0.125, 2));
  CHECK(losses::sigmoid_cross_entropy(labels, y, ctx, {w}).item<double>() ==
        weighted(std::log1p(std::exp(-0.5)), std::log1p(std::exp(2.0))));
  const at::Tensor p = doubles({0.5, 0.25});
  CHECK(losses::log_loss(labels, p, ctx, w).item<double>() == weighted(-std::log(0.5 + 1e-7), -std::log(0.75 + 1e-7)));
  const at::Tensor logits = doubles({0, 0, 1, 0}).view({2, 2});  // log probabilities of class 1: -ln 2, -ln(1 + e)
  const double second = std::log1p(std::exp(1.0));
  CHECK(losses::sparse_softmax_cross_entropy(torch::tensor({1, 1}), logits, ctx, w).item<double>() ==
        weighted(std::log(2.0), second));
  const at::Tensor one_hot = doubles({0, 1, 0, 1}).view({2, 2});
  CHECK(losses::softmax_cross_entropy(one_hot, logits, ctx, {w}).item<double>() == weighted(std::log(2.0), second));
  // Smoothed by 0.2: 0.9 of class 1 and 0.1 of class 0.
  CHECK(losses::softmax_cross_entropy(one_hot, logits, ctx, {w, 0.2}).item<double>() ==
        weighted(std::log(2.0), 0.9 * second + 0.1 * (second - 1)));
}

TEST_CASE("reductions have TensorFlow's names", "[losses]") {
  CHECK(std::string(to_string(LossReduction::kSumByNonzeroWeights)) == "SUM_BY_NONZERO_WEIGHTS");
  CHECK(std::string(to_string(LossReduction::kSumOverBatchSize)) == "SUM_OVER_BATCH_SIZE");
  CHECK(is_valid(LossReduction::kNone));
  CHECK_FALSE(is_valid(static_cast<LossReduction>(-1)));
}

TEST_CASE("a sum whose towers are averaged is warned of once a place", "[losses][R3]") {
  VariableStore store(1);
  ReplicaSet replicas(store);
  const auto warnings = [&](const LossPolicy& policy, LossReduction reduction, std::source_location where) {
    std::string text;
    const LogSink before = set_log_sink([&](LogLevel, std::string_view message) { text += message; });
    StepContext context(replicas.replica(0), {.loss_policy = policy});
    losses::compute_weighted_loss(doubles({1, 2}), context, {.reduction = reduction}, where);
    set_log_sink(before);
    return text;
  };
  const auto here = std::source_location::current();
  CHECK(warnings({.contribution = 0.5}, LossReduction::kMean, here).empty());
  CHECK(warnings({.contribution = 1}, LossReduction::kSum, here).empty());
  CHECK(warnings({.contribution = 0.5, .exact = true}, LossReduction::kSum, here).empty());
  const std::string place = "weighted_loss_test.cpp:" + std::to_string(here.line());
  CHECK_THAT(warnings({.contribution = 0.5}, LossReduction::kSum, here), Contains(place) && Contains("SUM"));
  CHECK(warnings({.contribution = 0.5}, LossReduction::kSum, here).empty());
  CHECK_FALSE(warnings({.contribution = 0.5}, LossReduction::kSum, std::source_location::current()).empty());
}
