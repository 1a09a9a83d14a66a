#include "estimator/metrics/means.h"

#include "core/error.h"
#include "tests/testing.h"

using Catch::Contains;
namespace metrics = belfry::metrics;

TEST_CASE("weights broadcast as TensorFlow's", "[metrics][E86]") {
  const at::Tensor values = torch::tensor({{1.0, 3.0}, {5.0, 9.0}});
  CHECK(metrics::mean(values).value() == 4.5);
  CHECK(metrics::mean(values, torch::tensor(2.0)).value() == 4.5);
  CHECK(metrics::mean(values, torch::tensor({3.0, 1.0})).value() == Approx(26.0 / 8));
  CHECK(metrics::mean(values, torch::tensor({{3.0}, {1.0}})).value() == Approx(26.0 / 8));
  CHECK(metrics::mean(values, torch::tensor({{0.0, 1.0}})).value() == 6);
  CHECK(metrics::sum(values, torch::tensor({{1, 0}, {0, 2}})).value() == 19);
  CHECK(metrics::mean(torch::tensor({2.0, 4.0}), torch::tensor({{1.0}, {3.0}})).value() == 3.5);
  CHECK_THROWS_WITH(metrics::mean(values, torch::ones({3})), Contains("[3]") && Contains("[2, 2]"));
  CHECK_THROWS_WITH(metrics::mean(values, torch::ones({2, 3})), Contains("[2, 3]"));
}

TEST_CASE("a column and a vector are the same rows, of any dtype", "[metrics]") {
  const at::Tensor labels = torch::tensor({1, 2, 3});
  const at::Tensor predictions = torch::tensor({{1.0}, {4.0}, {3.0}});
  CHECK(metrics::mean_squared_error(labels, predictions).value() == Approx(4.0 / 3));
  CHECK(metrics::mean_absolute_error(predictions, labels.to(torch::kInt8)).value() == Approx(2.0 / 3));
  CHECK(metrics::root_mean_squared_error(labels, predictions.to(torch::kHalf)).value() == Approx(std::sqrt(4.0 / 3)));
}

TEST_CASE("shapes that differ are an error that names the metric and both", "[metrics]") {
  CHECK_THROWS_WITH(metrics::mean_squared_error(torch::ones({3}), torch::ones({4})),
                    Contains("mean_squared_error") && Contains("[3]") && Contains("[4]"));
  CHECK_THROWS_WITH(metrics::mean_absolute_error(torch::ones({3, 1}), torch::ones({3, 2})), Contains("[3, 1]"));
}

TEST_CASE("a metric without weight is zero, and so is one of no rows", "[metrics]") {
  const at::Tensor values = torch::ones({3});
  CHECK(metrics::mean(values, torch::zeros({3})).value() == 0);
  CHECK(metrics::mean(torch::ones({0})).value() == 0);
  CHECK(metrics::root_mean_squared_error(torch::ones({0}), torch::ones({0})).value() == 0);
}

TEST_CASE("a relative error by zero counts as zero", "[metrics]") {
  const at::Tensor labels = torch::tensor({0.0, 2.0});
  CHECK(metrics::mean_relative_error(labels, torch::tensor({1.0, 3.0}), labels).value() == 0.25);
}

TEST_CASE("a mean of many small values keeps its digits", "[metrics]") {
  belfry::Metric total = metrics::sum(torch::full({1}, 1e8));
  for (int i = 0; i < 100; ++i) total.merge(metrics::sum(torch::ones({1})));
  CHECK(total.value() == 100000100);  // float32 would stay at 1e8
}
