#include "estimator/metrics/metric.h"

#include <cmath>

#include "core/error.h"
#include "estimator/metrics/auc.h"
#include "estimator/metrics/classes.h"
#include "estimator/metrics/counts.h"
#include "estimator/metrics/means.h"
#include "tests/testing.h"

using belfry::Metric;
using belfry::MetricFunction;
using Catch::Contains;
namespace metrics = belfry::metrics;

namespace {

struct Largest : MetricFunction {
  std::string name() const override { return "largest"; }
  States merge(const States& a, const States& b) const override { return {at::maximum(a[0], b[0])}; }
  at::Tensor result(const States& states) const override { return states[0]; }
};

Metric largest(const at::Tensor& values) { return {std::make_shared<Largest>(), {values.detach().max()}}; }

struct SumOfRows : MetricFunction {
  std::string name() const override { return "sum of rows"; }
  at::Tensor result(const States& states) const override { return states[0]; }
};

Metric plain(double value, double rows) {
  Metric metric(torch::tensor(value));
  metric.set_rows(rows);
  return metric;
}

struct Data {
  at::Tensor labels, scores, classes, predicted_classes, class_scores, weights;

  Data rows(int64_t start, int64_t length) const {
    const auto part = [&](const at::Tensor& t) { return t.narrow(0, start, length); };
    return {part(labels), part(scores), part(classes), part(predicted_classes), part(class_scores), part(weights)};
  }
};

Data rows_at_random(int64_t rows) {
  return {torch::randint(0, 2, {rows}), torch::rand({rows}),    torch::randint(0, 4, {rows}),
          torch::randint(0, 4, {rows}), torch::rand({rows, 4}), torch::rand({rows}) + 0.1};
}

std::vector<Metric> all_metrics(const Data& d) {
  return {metrics::mean(d.scores, d.weights),
          metrics::sum(d.scores, d.weights),
          metrics::root_mean_squared_error(d.labels, d.scores, d.weights),
          metrics::accuracy(d.classes, d.predicted_classes, d.weights),
          metrics::precision(d.labels, d.scores > 0.5, d.weights),
          metrics::recall_at_thresholds(d.labels, d.scores, {0.3, 0.6}, d.weights),
          metrics::auc(d.labels, d.scores, {.curve = metrics::AucCurve::kPr, .weights = d.weights}),
          metrics::auc(d.labels, d.scores, {.summation = metrics::AucSummation::kTrapezoidal, .weights = d.weights}),
          metrics::sensitivity_at_specificity(d.labels, d.scores, 0.6, {.weights = d.weights}),
          metrics::confusion_matrix(d.classes, d.predicted_classes, 4, d.weights),
          metrics::mean_iou(d.classes, d.predicted_classes, 4, d.weights),
          metrics::mean_per_class_accuracy(d.classes, d.predicted_classes, 4, d.weights),
          metrics::recall_at_k(d.classes, d.class_scores, 2, d.weights),
          metrics::accuracy_baseline(d.labels, d.weights),
          largest(d.scores)};
}

void merge_all(std::vector<Metric>& into, const std::vector<Metric>& from) {
  for (size_t i = 0; i < into.size(); ++i) into[i].merge(from[i]);
}

}  // namespace

TEST_CASE("a user's metric with its own merge keeps a running maximum", "[metrics]") {
  Metric metric = largest(torch::tensor({1.0, 40.0}));
  metric.merge(largest(torch::tensor({40.0, 3.0})));
  metric.merge(largest(torch::tensor({-5.0})));
  CHECK(metric.value() == 40);
}

TEST_CASE("the default merge adds states and refuses shapes that differ", "[metrics]") {
  const auto kind = std::make_shared<SumOfRows>();
  Metric metric(kind, {torch::tensor({1.0, 2.0})});
  metric.merge(Metric(kind, {torch::tensor({10.0, 20.0})}));
  CHECK(torch::equal(metric.result(), torch::tensor({11.0, 22.0})));
  CHECK_THROWS_WITH(metric.merge(Metric(kind, {torch::tensor({1.0, 2.0, 3.0})})),
                    Contains("sum of rows") && Contains("[2]") && Contains("[3]"));
  CHECK(torch::equal(metric.result(), torch::tensor({11.0, 22.0})));
}

TEST_CASE("metrics of different kinds or settings do not merge", "[metrics]") {
  const at::Tensor labels = torch::tensor({0, 1});
  const at::Tensor scores = torch::tensor({0.25, 0.75});
  Metric mean = metrics::mean(scores);
  CHECK_THROWS_WITH(mean.merge(metrics::sum(scores)), Contains("'mean'") && Contains("'sum'"));
  CHECK(mean.value() == 0.5);
  Metric fine = metrics::auc(labels, scores);
  CHECK_THROWS_WITH(fine.merge(metrics::auc(labels, scores, {.num_thresholds = 20})),
                    Contains("num_thresholds=200") && Contains("num_thresholds=20,"));
  Metric plain_value(torch::tensor(1.0));
  CHECK_THROWS_WITH(plain_value.merge(mean), Contains("plain value") && Contains("mean"));
}

TEST_CASE("a plain value is averaged, weighted by rows", "[metrics][E9]") {
  Metric metric = plain(1, 3);
  metric.merge(plain(5, 1));
  CHECK(metric.value() == Approx(2));
  metric.merge(plain(std::nan(""), 0));
  CHECK(metric.value() == Approx(2));
  Metric nothing = plain(std::nan(""), 0);
  nothing.merge(metric);
  CHECK(nothing.value() == Approx(2));
  CHECK_THROWS_WITH(metric.set_rows(-1), Contains("-1"));
}

TEST_CASE("a plain value may have a shape, which stays", "[metrics]") {
  Metric metric(torch::tensor({1.0, 2.0}));
  metric.merge(Metric(torch::tensor({3.0, 6.0})));
  CHECK(torch::equal(metric.result(), torch::tensor({2.0, 4.0}, torch::kDouble)));
  CHECK_THROWS_WITH(metric.merge(Metric(torch::tensor(1.0))), Contains("[2]") && Contains("[]"));
  CHECK_THROWS_WITH(metric.value(), Contains("[2]"));
}

TEST_CASE("a metric holds no graph and no memory of its caller", "[metrics]") {
  at::Tensor value = torch::ones({}, torch::kDouble);
  value.requires_grad_();
  const at::Tensor product = value * 2;
  const Metric metric(product);
  const Metric mean = metrics::mean(product);
  product.detach().fill_(7);
  CHECK(metric.value() == 2);
  CHECK_FALSE(metric.result().requires_grad());
  CHECK_FALSE(mean.result().requires_grad());
}

TEST_CASE("an undefined tensor or function is refused", "[metrics]") {
  CHECK_THROWS_AS(Metric(at::Tensor()), belfry::Error);
  CHECK_THROWS_AS(Metric(nullptr, {torch::zeros({})}), belfry::Error);
  CHECK_THROWS_WITH(metrics::mean({}), Contains("mean") && Contains("undefined"));
}

TEST_CASE("states of towers, split anyhow, merge to what one device has", "[metrics]") {
  torch::manual_seed(GENERATE(1, 2, 3, 4, 5));
  const Data data = rows_at_random(23);
  const std::vector<int64_t> cuts = {0, torch::randint(1, 10, {}).item<int64_t>(),
                                     torch::randint(10, 22, {}).item<int64_t>(), 22, 23};
  std::vector<Metric> whole = all_metrics(data);
  std::vector<Metric> merged = all_metrics(data.rows(cuts[3], 1));
  for (size_t i : {1u, 0u, 2u}) merge_all(merged, all_metrics(data.rows(cuts[i], cuts[i + 1] - cuts[i])));
  for (size_t i = 0; i < whole.size(); ++i) {
    INFO(whole[i].name() << ": " << merged[i].result() << " against " << whole[i].result());
    CHECK(torch::allclose(merged[i].result(), whole[i].result(), 1e-10, 1e-12));
  }
}
