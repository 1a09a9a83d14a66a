#include "estimator/metrics/counts.h"

#include "core/error.h"
#include "tests/testing.h"

using Catch::Contains;
namespace metrics = belfry::metrics;

TEST_CASE("counts, precision and recall follow the four cells", "[metrics]") {
  const at::Tensor labels = torch::tensor({1, 1, 1, 0, 0});
  const at::Tensor predictions = torch::tensor({1, 0, 2, 1, 0});
  CHECK(metrics::true_positives(labels, predictions).value() == 2);
  CHECK(metrics::false_negatives(labels, predictions).value() == 1);
  CHECK(metrics::false_positives(labels, predictions).value() == 1);
  CHECK(metrics::true_negatives(labels, predictions).value() == 1);
  CHECK(metrics::precision(labels, predictions).value() == Approx(2.0 / 3));
  CHECK(metrics::recall(labels == 1, predictions > 0).value() == Approx(2.0 / 3));
  CHECK(metrics::precision(labels, torch::zeros({5})).value() == 0);
  CHECK(metrics::recall(torch::zeros({5}), predictions).value() == 0);
}

TEST_CASE("thresholds may come in any order, twice, and do not count a score that equals them", "[metrics][E77]") {
  const at::Tensor labels = torch::tensor({{1}, {1}, {0}, {0}});
  const at::Tensor scores = torch::tensor({0.5, 0.9, 0.6, 0.1});
  const auto metric = metrics::precision_at_thresholds(labels, scores, {0.8, 0.5, 0.0, 0.8});
  CHECK(torch::allclose(metric.result(), torch::tensor({1.0, 0.5, 0.5, 1.0}, torch::kDouble)));
  CHECK_THROWS_WITH(metrics::recall_at_thresholds(labels, scores, {0.5, 1.5}), Contains("1.5"));
  CHECK_THROWS_WITH(metrics::recall_at_thresholds(labels, scores, {}), Contains("no thresholds"));
}

TEST_CASE("accuracy takes classes of any dtype, and the baseline the more frequent one", "[metrics][E77]") {
  const at::Tensor labels = torch::tensor({1, 0, 0, 0});
  CHECK(metrics::accuracy(labels, torch::tensor({{1.0}, {1.0}, {0.0}, {0.0}})).value() == 0.75);
  CHECK(metrics::accuracy_baseline(labels).value() == 0.75);
  CHECK(metrics::accuracy_baseline(labels, torch::tensor({9.0, 1.0, 1.0, 1.0})).value() == 0.75);
  CHECK_THROWS_WITH(metrics::accuracy(labels, torch::ones({4, 2})), Contains("accuracy") && Contains("[4, 2]"));
}
