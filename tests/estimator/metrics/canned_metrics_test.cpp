// Every metric against TensorFlow's, after each batch.
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "estimator/metrics/auc.h"
#include "estimator/metrics/classes.h"
#include "estimator/metrics/counts.h"
#include "estimator/metrics/means.h"
#include "tests/support/reference.h"
#include "tests/testing.h"

namespace {

using namespace belfry;
using belfry::testing::check_close;
using belfry::testing::Json;
using belfry::testing::to_tensor;
using metrics::AucCurve;
using metrics::AucSummation;
using metrics::OperatingPoint;

struct Batch {
  at::Tensor labels, scores, predicted, classes, predicted_classes, class_scores, targets, estimates;
  at::Tensor weights;  // undefined for the runs without
};

std::vector<Batch> batches(const Json& data, bool weighted) {
  std::vector<Batch> all;
  for (size_t i = 0; i < data["labels"].size(); ++i) {
    const auto part = [&](const char* name, at::ScalarType dtype) { return to_tensor(data[name][i], dtype); };
    all.push_back({part("labels", at::kLong), part("scores", at::kFloat), part("predicted_binary", at::kLong),
                   part("class_labels", at::kLong), part("class_predictions", at::kLong),
                   part("class_scores", at::kFloat), part("regression_labels", at::kFloat),
                   part("regression_predictions", at::kFloat), weighted ? part("weights", at::kFloat) : at::Tensor()});
  }
  return all;
}

using MakeMetric = std::function<Metric(const Batch&)>;
using Table = std::map<std::string, MakeMetric>;

MakeMetric auc_of(AucCurve curve, AucSummation summation, int64_t num_thresholds = 200) {
  return [=](const Batch& b) {
    return metrics::auc(
        b.labels, b.scores,
        {.num_thresholds = num_thresholds, .curve = curve, .summation = summation, .weights = b.weights});
  };
}

using PointMetric = Metric (*)(const at::Tensor&, const at::Tensor&, double, const metrics::OperatingPointOptions&);
MakeMetric point_of(PointMetric metric, double wanted, OperatingPoint point) {
  return [=](const Batch& b) { return metric(b.labels, b.scores, wanted, {.point = point, .weights = b.weights}); };
}

using PairMetric = Metric (*)(const at::Tensor&, const at::Tensor&, const at::Tensor&);
MakeMetric of_predictions(PairMetric metric) {
  return [=](const Batch& b) { return metric(b.labels, b.predicted, b.weights); };
}
MakeMetric of_estimates(PairMetric metric) {
  return [=](const Batch& b) { return metric(b.targets, b.estimates, b.weights); };
}

const std::vector<double> kThresholds = {0.2, 0.5, 0.8};

MakeMetric mean_of_scores() {
  return [](const Batch& b) { return metrics::mean(b.scores, b.weights); };
}
MakeMetric precisions() {
  return [](const Batch& b) { return metrics::precision_at_thresholds(b.labels, b.scores, kThresholds, b.weights); };
}
MakeMetric recalls() {
  return [](const Batch& b) { return metrics::recall_at_thresholds(b.labels, b.scores, kThresholds, b.weights); };
}
MakeMetric binary_accuracy_at(double threshold) {
  return [=](const Batch& b) { return metrics::binary_accuracy(b.labels, b.scores, threshold, b.weights); };
}

void add_shared_names(Table& table) {
  table["mean_squared_error"] = table["MeanSquaredError"] = of_estimates(metrics::mean_squared_error);
  table["root_mean_squared_error"] = table["RootMeanSquaredError"] = of_estimates(metrics::root_mean_squared_error);
  table["mean_absolute_error"] = table["MeanAbsoluteError"] = of_estimates(metrics::mean_absolute_error);
  table["mean"] = table["Mean"] = mean_of_scores();
  table["accuracy"] = table["Accuracy"] = of_predictions(metrics::accuracy);
  table["precision"] = table["Precision"] = of_predictions(metrics::precision);
  table["recall"] = table["Recall"] = of_predictions(metrics::recall);
  table["precision_at_thresholds_.2_.5_.8"] = table["Precision_thresholds_.2_.5_.8"] = precisions();
  table["recall_at_thresholds_.2_.5_.8"] = table["Recall_thresholds_.2_.5_.8"] = recalls();
}

void add_v1_curves(Table& table) {
  for (const auto& [name, summation] :
       std::map<std::string, AucSummation>{{"trapezoidal", AucSummation::kTrapezoidal},
                                           {"careful_interpolation", AucSummation::kCarefulInterpolation},
                                           {"minoring", AucSummation::kV1Minoring},
                                           {"majoring", AucSummation::kV1Majoring}}) {
    table["auc_roc_" + name] = auc_of(AucCurve::kRoc, summation);
    table["auc_pr_" + name] = auc_of(AucCurve::kPr, summation);
  }
  table["sensitivity_at_specificity_0.7"] =
      point_of(metrics::sensitivity_at_specificity, 0.7, OperatingPoint::kClosest);
  table["specificity_at_sensitivity_0.7"] =
      point_of(metrics::specificity_at_sensitivity, 0.7, OperatingPoint::kClosest);
}

void add_v1_classes(Table& table) {
  table["accuracy_multiclass"] = [](const Batch& b) {
    return metrics::accuracy(b.classes, b.predicted_classes, b.weights);
  };
  table["mean_per_class_accuracy_3"] = [](const Batch& b) {
    return metrics::mean_per_class_accuracy(b.classes, b.predicted_classes, 3, b.weights);
  };
  table["mean_iou_3"] = [](const Batch& b) { return metrics::mean_iou(b.classes, b.predicted_classes, 3, b.weights); };
  table["precision_at_1"] = [](const Batch& b) {
    return metrics::precision_at_k(b.classes, b.class_scores, 1, b.weights);
  };
  table["recall_at_2"] = [](const Batch& b) { return metrics::recall_at_k(b.classes, b.class_scores, 2, b.weights); };
  table["average_precision_at_2"] = [](const Batch& b) {
    return metrics::average_precision_at_k(b.classes, b.class_scores, 2, b.weights);
  };
}

Table v1_table() {
  Table table;
  add_shared_names(table);
  add_v1_curves(table);
  add_v1_classes(table);
  table["mean_relative_error"] = [](const Batch& b) {
    return metrics::mean_relative_error(b.targets, b.estimates, b.targets.abs() + 1, b.weights);
  };
  table["percentage_below_0.5"] = [](const Batch& b) { return metrics::percentage_below(b.scores, 0.5, b.weights); };
  table["true_positives"] = of_predictions(metrics::true_positives);
  table["true_negatives"] = of_predictions(metrics::true_negatives);
  table["false_positives"] = of_predictions(metrics::false_positives);
  table["false_negatives"] = of_predictions(metrics::false_negatives);
  return table;
}

void add_keras_curves(Table& table) {
  for (const auto& [name, summation] :
       std::map<std::string, AucSummation>{{"interpolation", AucSummation::kInterpolation},
                                           {"minoring", AucSummation::kMinoring},
                                           {"majoring", AucSummation::kMajoring}}) {
    table["AUC_ROC_" + name] = auc_of(AucCurve::kRoc, summation);
    table["AUC_PR_" + name] = auc_of(AucCurve::kPr, summation);
  }
  table["AUC_ROC_20"] = auc_of(AucCurve::kRoc, AucSummation::kInterpolation, 20);
  table["SensitivityAtSpecificity_0.7"] = point_of(metrics::sensitivity_at_specificity, 0.7, OperatingPoint::kBest);
  table["SpecificityAtSensitivity_0.7"] = point_of(metrics::specificity_at_sensitivity, 0.7, OperatingPoint::kBest);
  table["PrecisionAtRecall_0.5"] = point_of(metrics::precision_at_recall, 0.5, OperatingPoint::kBest);
  table["RecallAtPrecision_0.8"] = point_of(metrics::recall_at_precision, 0.8, OperatingPoint::kBest);
}

Table keras_table() {
  Table table;
  add_shared_names(table);
  add_keras_curves(table);
  table["Sum"] = [](const Batch& b) { return metrics::sum(b.scores, b.weights); };
  table["BinaryAccuracy"] = binary_accuracy_at(0.5);
  table["BinaryAccuracy_t0.3"] = binary_accuracy_at(0.3);
  table["SparseCategoricalAccuracy"] = [](const Batch& b) {
    return metrics::sparse_categorical_accuracy(b.classes, b.class_scores, b.weights);
  };
  table["SparseTopK2"] = [](const Batch& b) {
    return metrics::sparse_top_k_accuracy(b.classes, b.class_scores, 2, b.weights);
  };
  return table;
}

void check_after_each_batch(const MakeMetric& make, const std::vector<Batch>& data, const Json& expected) {
  REQUIRE(data.size() == expected.size());
  std::optional<Metric> total;
  for (size_t i = 0; i < data.size(); ++i) {
    INFO("after batch " << i);
    const Metric metric = make(data[i]);
    if (total) {
      total->merge(metric);
    } else {
      total = metric;
    }
    check_close(total->result(), expected[i]);
  }
}

void check_section(const char* section, const Table& table) {
  const Json data = belfry::testing::reference("canned")["metrics"];
  for (const auto& [key, expected] : data[section].items()) {
    INFO(section << " " << key);
    const bool weighted = key.size() > 2 && key.substr(key.size() - 2) == "_w";
    const auto entry = table.find(weighted ? key.substr(0, key.size() - 2) : key);
    REQUIRE(entry != table.end());
    check_after_each_batch(entry->second, batches(data, weighted), expected);
  }
}

}  // namespace

TEST_CASE("canned: the metrics of tf.compat.v1 have TensorFlow's values after each batch",
          "[metrics][reference][E85]") {
  check_section("v1", v1_table());
}

TEST_CASE("canned: Keras's metrics have TensorFlow's values after each batch", "[metrics][reference][E77][E78]") {
  check_section("keras", keras_table());
}
