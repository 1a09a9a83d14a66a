#include "estimator/canned/dnn_classifier.h"

#include <memory>

#include "core/error.h"
#include "estimator/canned/dnn.h"
#include "estimator/feature_column/input_layer.h"
#include "estimator/heads/binary_class_head.h"
#include "estimator/heads/multi_class_head.h"

namespace belfry {
namespace {

std::shared_ptr<const Head> classification_head(const DNNClassifierOptions& options) {
  require(options.n_classes >= 2, "DNNClassifier: n_classes is ", options.n_classes, "; 2 or more are wanted");
  if (options.n_classes == 2) {
    return std::make_shared<BinaryClassHead>(BinaryClassHeadOptions{.weight_column = options.weight_column,
                                                                    .label_vocabulary = options.label_vocabulary,
                                                                    .loss_reduction = options.loss_reduction});
  }
  return std::make_shared<MultiClassHead>(options.n_classes,
                                          MultiClassHeadOptions{.weight_column = options.weight_column,
                                                                .label_vocabulary = options.label_vocabulary,
                                                                .loss_reduction = options.loss_reduction});
}

DnnOptions network_options(const DNNClassifierOptions& options) {
  require(!options.hidden_units.empty(), "DNNClassifier: hidden_units is empty; at least one hidden layer is wanted");
  DnnOptions network{.hidden_units = options.hidden_units,
                     .activation_fn = options.activation_fn,
                     .dropout = options.dropout,
                     .batch_norm = options.batch_norm};
  network.validate("DNNClassifier");
  return network;
}

ModelFn make_dnn_model_fn(const DNNClassifierOptions& options, const ModelFnTransform& transform) {
  ModelFn model_fn = [head = classification_head(options), network = network_options(options),
                      columns = feature_column::sorted_by_name(options.feature_columns), optimizer = options.optimizer](
                         const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    const at::Tensor x = feature_column::input_layer(features, columns, ctx);
    const at::Tensor logits = dnn_logits(x, head->logits_dimension(), network, ctx);
    return head->create_estimator_spec(features, mode, logits, labels, optimizer.optimizer(), ctx);
  };
  return transform ? transform(std::move(model_fn)) : model_fn;
}

}  // namespace

DNNClassifier::DNNClassifier(const DNNClassifierOptions& options, RunConfig config, const ModelFnTransform& transform)
    : Estimator(make_dnn_model_fn(options, transform), std::move(config)) {}

}  // namespace belfry
