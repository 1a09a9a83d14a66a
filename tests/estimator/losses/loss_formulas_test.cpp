#include "estimator/losses/internal/loss_formulas.h"

#include <torch/csrc/autograd/autograd.h>

#include <cmath>

#include "core/error.h"
#include "tests/testing.h"

using belfry::Error;
using belfry::ErrorKind;
using Catch::Contains;
namespace internal = belfry::internal;

namespace {

at::Tensor doubles(std::vector<double> values) { return torch::tensor(values, torch::kDouble); }

bool close(const at::Tensor& a, const at::Tensor& b) { return torch::allclose(a, b, 1e-10, 1e-12); }

at::Tensor gradient(const at::Tensor& loss, const at::Tensor& of) {
  return torch::autograd::grad({loss.sum()}, {of})[0];
}

}  // namespace

TEST_CASE("sparse softmax cross entropy is that of one-hot labels, in any shape", "[losses]") {
  torch::manual_seed(1);
  const at::Tensor logits = torch::randn({2, 3, 5}, torch::kDouble);
  const at::Tensor labels = torch::randint(0, 5, {2, 3}, torch::kLong);
  const at::Tensor one_hot = at::one_hot(labels, 5);
  const at::Tensor loss = internal::sparse_softmax_cross_entropy(labels, logits);
  const at::Tensor direct =
      -(logits.exp() / logits.exp().sum(-1, true)).log().gather(2, labels.unsqueeze(2)).squeeze(2);
  CHECK(close(loss, direct));
  CHECK(close(loss, internal::softmax_cross_entropy(one_hot, logits)));
  CHECK(close(internal::sparse_softmax_cross_entropy(labels.unsqueeze(2).to(torch::kInt), logits), direct));
}

TEST_CASE("a label that is no class is named with its row", "[losses][E78]") {
  const at::Tensor logits = torch::zeros({3, 4});
  try {
    internal::sparse_softmax_cross_entropy(torch::tensor({{0}, {4}, {-1}}), logits);
    FAIL("label 4 of 4 classes was taken");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kOutOfRange);
    CHECK_THAT(error.what(), Contains("class 4 in row 1") && Contains("[0, 4)"));
  }
  CHECK_THROWS_WITH(internal::sparse_softmax_cross_entropy(torch::tensor({0.0, 1.0, 2.0}), logits), Contains("Float"));
  CHECK_THROWS_WITH(internal::sparse_softmax_cross_entropy(torch::tensor({0, 1}), logits),
                    Contains("[2]") && Contains("[3, 4]"));
}

TEST_CASE("large logits give finite losses and gradients", "[losses]") {
  at::Tensor logits = torch::tensor({{1000.0, -1000.0}, {-1000.0, 1000.0}}, torch::kFloat).requires_grad_();
  const at::Tensor classes = torch::tensor({1, 1});
  const at::Tensor sparse = internal::sparse_softmax_cross_entropy(classes, logits);
  CHECK(torch::equal(sparse, torch::tensor({2000.0F, 0.0F})));
  CHECK(gradient(sparse, logits).isfinite().all().item<bool>());
  const at::Tensor sigmoid = internal::sigmoid_cross_entropy(torch::tensor({{0, 0}, {0, 1}}), logits);
  CHECK(torch::equal(sigmoid, torch::tensor({{1000.0F, 0.0F}, {0.0F, 0.0F}})));
  CHECK(gradient(sigmoid, logits).isfinite().all().item<bool>());
}

TEST_CASE("smoothing moves labels towards the even distribution", "[losses]") {
  const at::Tensor logits = doubles({0.3, -1.2, 0.8}).unsqueeze(0);
  const at::Tensor labels = doubles({0, 1, 0}).unsqueeze(0);
  const at::Tensor smoothed = doubles({0.1, 0.8, 0.1}).unsqueeze(0);
  CHECK(close(internal::softmax_cross_entropy(labels, logits, 0.3), internal::softmax_cross_entropy(smoothed, logits)));
  const at::Tensor binary = doubles({0.1, 0.9, 0.1}).unsqueeze(0);
  CHECK(close(internal::sigmoid_cross_entropy(labels, logits, 0.2), internal::sigmoid_cross_entropy(binary, logits)));
  CHECK_THROWS_WITH(internal::softmax_cross_entropy(labels, logits, 1.5), Contains("1.5"));
}

TEST_CASE("sigmoid cross entropy is the log of the chosen probability", "[losses][E77][E79]") {
  const at::Tensor logits = doubles({0.4, -2, 3});
  const at::Tensor p = logits.sigmoid();
  CHECK(close(internal::sigmoid_cross_entropy(torch::tensor({1, 0, 1}), logits),
              -at::stack({p[0], 1 - p[1], p[2]}).log()));
}

TEST_CASE("errors of regression, and where each formula bends", "[losses][E80]") {
  const at::Tensor labels = doubles({1, 1, 1});
  const at::Tensor predictions = doubles({1.5, -2, 1});
  CHECK(close(internal::squared_error(labels, predictions), doubles({0.25, 9, 0})));
  CHECK(close(internal::absolute_error(labels, predictions), doubles({0.5, 3, 0})));
  CHECK(close(internal::huber_loss(labels, predictions), doubles({0.125, 2.5, 0})));
  CHECK(close(internal::huber_loss(labels, predictions, 2), doubles({0.125, 4, 0})));
  CHECK(close(internal::hinge_loss(torch::tensor({1, 0, 0}), predictions), doubles({0, 0, 2})));
  CHECK_THROWS_WITH(internal::huber_loss(labels, predictions, 0), Contains("delta is 0"));
}

TEST_CASE("log loss keeps certain and wrong predictions finite", "[losses]") {
  const at::Tensor loss = internal::log_loss(torch::tensor({1, 0, 1}), doubles({0, 1, 0.25}));
  CHECK(close(loss, doubles({-std::log(1e-7), -std::log(1e-7), -std::log(0.25 + 1e-7)})));
}

TEST_CASE("cosine distance sums along its axis", "[losses]") {
  const at::Tensor a = doubles({0.6, 0.8, 1, 0}).view({2, 2});
  const at::Tensor b = doubles({0.8, 0.6, 0, 1}).view({2, 2});
  CHECK(close(internal::cosine_distance(a, b, 1), doubles({0.04, 1}).view({2, 1})));
  CHECK_THROWS_WITH(internal::cosine_distance(a, b, 2), Contains("axis is 2"));
}

TEST_CASE("a vector and a column fit each other, and nothing else is broadcast", "[losses][E76]") {
  const at::Tensor column = doubles({1, 2, 3}).unsqueeze(1);
  CHECK(internal::squared_error(doubles({1, 2, 4}), column).sizes() == column.sizes());
  CHECK(close(internal::squared_error(column, doubles({1, 2, 4})), doubles({0, 0, 1})));
  CHECK_THROWS_WITH(internal::squared_error(doubles({1, 2}), column),
                    Contains("mean_squared_error") && Contains("[2]") && Contains("[3, 1]"));
  CHECK_THROWS_WITH(internal::sigmoid_cross_entropy(column, torch::zeros({3, 2})), Contains("[3, 2]"));
  CHECK_THROWS_WITH(internal::squared_error(column, torch::ones({3, 1}, torch::kLong)), Contains("Long"));
}
