// A small classifier for the GPU tests, and what a training of it leaves behind.
#pragma once

#include <string>
#include <vector>

#include "estimator/estimator.h"

namespace belfry::testing {

// A dense network whose loss is softmax cross entropy; the metric is accuracy.
EstimatorSpec classifier(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx);

// 96 rows of 16 normal numbers and classes 0 to 3, always the same, in batches of 24, in order and without end.
InputFn classifier_input();

// The model over `devices`, trained in `model_dir` to global step `steps`.
Estimator train_classifier(const std::vector<std::string>& devices, const std::string& model_dir, int64_t steps);

// Largest difference over all variables of the newest checkpoints.
double largest_difference(const Estimator& a, const Estimator& b);

}  // namespace belfry::testing
