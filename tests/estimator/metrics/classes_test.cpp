#include "estimator/metrics/classes.h"

#include "core/error.h"
#include "tests/testing.h"

using belfry::Error;
using belfry::ErrorKind;
using Catch::Contains;
namespace metrics = belfry::metrics;

TEST_CASE("a confusion matrix has labels in rows and predictions in columns", "[metrics]") {
  const at::Tensor labels = torch::tensor({0, 2, 2});
  const at::Tensor predictions = torch::tensor({{0}, {1}, {1}});
  const auto metric = metrics::confusion_matrix(labels, predictions, 3, torch::tensor({1.0, 2.0, 0.5}));
  const at::Tensor expected = torch::tensor({{1.0, 0.0, 0.0}, {0.0, 0.0, 0.0}, {0.0, 2.5, 0.0}}, torch::kDouble);
  CHECK(torch::equal(metric.result(), expected));
}

TEST_CASE("a class that is none is named with its row", "[metrics]") {
  const at::Tensor good = torch::tensor({0, 2, 1});
  const at::Tensor bad = torch::tensor({0, 1, 3});
  CHECK_THROWS_WITH(metrics::mean_iou(good, bad, 3), Contains("predictions") && Contains("class 3 in row 2"));
  CHECK_THROWS_WITH(metrics::confusion_matrix(-good, good, 3), Contains("labels") && Contains("class -2 in row 1"));
  try {
    metrics::sparse_top_k_accuracy(bad, torch::rand({3, 3}), 2);
    FAIL("label 3 of 3 classes was taken");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kOutOfRange);
  }
}

TEST_CASE("of equal scores the lower class is predicted, and both are within the top", "[metrics]") {
  const at::Tensor labels = torch::tensor({1, 0});
  const at::Tensor scores = torch::tensor({{0.5, 0.5, 0.0}, {0.5, 0.5, 0.0}});
  CHECK(metrics::sparse_categorical_accuracy(labels, scores).value() == 0.5);
  CHECK(metrics::sparse_top_k_accuracy(labels, scores, 1).value() == 1);
}

TEST_CASE("several labels a row count in precision, recall and average precision", "[metrics]") {
  const at::Tensor scores = torch::tensor({{0.1, 0.4, 0.3, 0.2}, {0.7, 0.1, 0.1, 0.1}});
  const at::Tensor labels = torch::tensor({{1, 3}, {2, -1}});  // order: 1 2 3 0 and 0 1 2 3
  CHECK(metrics::precision_at_k(labels, scores, 3).value() == Approx(3.0 / 6));
  CHECK(metrics::recall_at_k(labels, scores, 3).value() == Approx(3.0 / 4));
  const double first = (1.0 + 2.0 / 3) / 2;
  const double second = (1.0 / 3) / 2;
  CHECK(metrics::average_precision_at_k(labels, scores, 3).value() == Approx((first + second) / 2));
}

TEST_CASE("scores and k that do not fit are refused", "[metrics]") {
  const at::Tensor labels = torch::tensor({0, 1});
  CHECK_THROWS_WITH(metrics::recall_at_k(labels, torch::rand({2, 3}), 4), Contains("k is 4") && Contains("1 to 3"));
  CHECK_THROWS_WITH(metrics::recall_at_k(labels, torch::rand({3, 3}), 1), Contains("[2]") && Contains("[3, 3]"));
  CHECK_THROWS_WITH(metrics::precision_at_k(labels, torch::rand({2}), 1), Contains("[rows, classes]"));
  CHECK_THROWS_WITH(metrics::sparse_categorical_accuracy(torch::zeros({2, 2}), torch::rand({2, 3})),
                    Contains("several classes"));
}
