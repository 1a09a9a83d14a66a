#include "estimator/metrics/auc.h"

#include <cmath>

#include "core/error.h"
#include "tests/testing.h"

using Catch::Contains;
namespace metrics = belfry::metrics;

TEST_CASE("the area is 1 for scores that sort the labels, 0 for the reverse, a half for one score", "[metrics]") {
  const at::Tensor labels = torch::tensor({0, 0, 1, 1});
  const at::Tensor scores = torch::tensor({0.0, 0.4, 0.6, 1.0});
  CHECK(metrics::auc(labels, scores).value() == Approx(1));
  CHECK(metrics::auc(labels, 1 - scores).value() == Approx(0).margin(1e-12));
  CHECK(metrics::auc(labels, torch::full({4}, 0.5)).value() == Approx(0.5));
  CHECK(metrics::auc(labels, scores, {.curve = metrics::AucCurve::kPr}).value() == Approx(1));
}

TEST_CASE("the area of labels of one class is zero", "[metrics]") {
  const at::Tensor scores = torch::tensor({0.2, 0.7});
  CHECK(metrics::auc(torch::ones({2}), scores).value() == 0);
  CHECK(metrics::auc(torch::zeros({2}), scores).value() == 0);
  CHECK(metrics::auc(torch::ones({0}), torch::ones({0})).value() == 0);
}

TEST_CASE("scores and labels outside 0 to 1 are refused with their range", "[metrics]") {
  const at::Tensor labels = torch::tensor({0, 1});
  CHECK_THROWS_WITH(metrics::auc(labels, torch::tensor({-2.5, 0.5})), Contains("scores") && Contains("-2.5"));
  CHECK_THROWS_WITH(metrics::auc(labels, torch::tensor({0.5, std::nan("")})), Contains("nan"));
  CHECK_THROWS_WITH(metrics::auc(torch::tensor({-1, 1}), torch::tensor({0.5, 0.5})),
                    Contains("labels") && Contains("-1"));
  CHECK_THROWS_WITH(metrics::auc(labels, torch::rand({2}), {.num_thresholds = 1}), Contains("num_thresholds is 1"));
  CHECK_THROWS_WITH(metrics::auc(labels, torch::rand({3})), Contains("[2]") && Contains("[3]"));
}

TEST_CASE("a rate that no threshold reaches gives zero", "[metrics]") {
  const at::Tensor labels = torch::tensor({1, 0});
  const at::Tensor scores = torch::tensor({0.2, 0.9});
  CHECK(metrics::recall_at_precision(labels, scores, 0.9).value() == 0);
  CHECK(metrics::recall_at_precision(labels, scores, 0.5).value() == 1);
  CHECK_THROWS_WITH(metrics::precision_at_recall(labels, scores, 1.1), Contains("1.1"));
}
