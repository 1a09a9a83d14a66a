// A deep network that tells classes apart.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../estimator.h"
#include "../feature_column/numeric_column.h"
#include "../heads/weight_column.h"
#include "../losses/loss_reduction.h"
#include "../model_fn.h"
#include "../run_config.h"
#include "canned_optimizer.h"
#include "dnn.h"

namespace belfry {

struct DNNClassifierOptions {
  // Units of each hidden layer, from the input up; at least one layer.
  std::vector<int64_t> hidden_units = {};
  // At least one; they are joined in the order of their names.
  DenseColumns feature_columns = {};
  // 2: one logit (BinaryClassHead); more: one each (MultiClassHead).
  int64_t n_classes = 2;
  WeightColumn weight_column = {};
  // Names of the classes; then labels are strings.
  std::vector<std::string> label_vocabulary = {};
  CannedOptimizer optimizer = "Adagrad";
  // Empty: relu.
  ActivationFn activation_fn = {};
  // The share of each layer's output that is dropped in training, in [0, 1).
  double dropout = 0;
  // Batch normalization behind each hidden layer.
  bool batch_norm = false;
  LossReduction loss_reduction = LossReduction::kSumOverBatchSize;
};

// tf.estimator.DNNClassifier (version 2): each hidden layer is dense (Glorot-uniform kernel, zero bias), activation,
// dropout, batch normalization (momentum 0.999, epsilon 0.001); then dense to the logits. Variables have TensorFlow's
// names and layouts (dnn/hiddenlayer_0/kernel is [in, out], its slot training/Adagrad/dnn/hiddenlayer_0/kernel/
// accumulator), so that a model directory of tf.estimator is gone on with. Labels, predictions, metrics and signatures
// are those of the heads.
//
// `transform` wraps the model_fn, as replicate() does for several devices; the optimizer need not be a TowerOptimizer
// then: it is made one here. What Estimator says of threads holds.
class DNNClassifier : public Estimator {
 public:
  // kInvalidArgument, naming the option and its value, for what cannot be right. kNotFound and kInvalidArgument from a
  // step for a feature that is missing or of another shape than its column.
  explicit DNNClassifier(const DNNClassifierOptions& options, RunConfig config = {},
                         const ModelFnTransform& transform = {});
};

}  // namespace belfry
