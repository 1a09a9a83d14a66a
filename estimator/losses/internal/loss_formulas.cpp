#include "estimator/losses/internal/loss_formulas.h"

#include <ATen/ATen.h>

#include <limits>

#include "core/error.h"
#include "estimator/metrics/internal/class_ids.h"

namespace belfry::internal {
namespace {

bool is_column_of(const at::Tensor& longer, const at::Tensor& shorter) {
  return longer.dim() == shorter.dim() + 1 && longer.size(-1) == 1;
}

void require_defined(const char* loss, const at::Tensor& labels, const at::Tensor& predictions) {
  require(labels.defined(), loss, ": labels is an undefined tensor");
  require(predictions.defined(), loss, ": predictions is an undefined tensor");
  require(predictions.is_floating_point(), loss, ": predictions have dtype ", predictions.scalar_type(),
          "; wanted a floating one");
}

[[noreturn]] void fail_shapes(const char* loss, const at::Tensor& labels, const at::Tensor& predictions) {
  fail(ErrorKind::kInvalidArgument, loss, ": labels have shape ", labels.sizes(), " and predictions ",
       predictions.sizes());
}

// Labels in the shape, dtype and device of the predictions.
at::Tensor fit(const char* loss, const at::Tensor& labels, const at::Tensor& predictions) {
  require_defined(loss, labels, predictions);
  at::Tensor fitted = labels.to(predictions.options());
  if (is_column_of(fitted, predictions)) fitted = fitted.squeeze(-1);
  if (is_column_of(predictions, fitted)) fitted = fitted.unsqueeze(-1);
  if (fitted.sizes() != predictions.sizes()) fail_shapes(loss, labels, predictions);
  return fitted;
}

at::Tensor smooth(const char* loss, const at::Tensor& labels, double smoothing, double towards) {
  require(smoothing >= 0 && smoothing <= 1, loss, ": label_smoothing is ", smoothing, " and has to lie in [0, 1]");
  return smoothing == 0 ? labels : labels * (1 - smoothing) + smoothing * towards;
}

// Labels in the shape of the logits without their classes.
at::Tensor fit_classes(const char* loss, const at::Tensor& labels, const at::Tensor& logits) {
  require_defined(loss, labels, logits);
  require(at::isIntegralType(labels.scalar_type(), /*includeBool=*/false), loss, ": labels have dtype ",
          labels.scalar_type(), "; wanted an integer one");
  if (logits.dim() == 0) fail_shapes(loss, labels, logits);
  const at::Tensor ids = labels.dim() == logits.dim() && labels.size(-1) == 1 ? labels.squeeze(-1) : labels;
  if (ids.sizes() != logits.sizes().slice(0, logits.dim() - 1)) fail_shapes(loss, labels, logits);
  return ids;
}

at::Tensor cross_entropy_of_rows(const at::Tensor& ids, const at::Tensor& logits) {
  const at::Tensor rows = at::cross_entropy_loss(logits.reshape({-1, logits.size(-1)}), ids.flatten(),
                                                 /*weight=*/{}, at::Reduction::None);
  return rows.view(ids.sizes());
}

}  // namespace

at::Tensor sparse_softmax_cross_entropy(const at::Tensor& labels, const at::Tensor& logits) {
  const char* loss = "sparse_softmax_cross_entropy";
  const at::Tensor ids = fit_classes(loss, labels, logits);
  const int64_t num_classes = logits.size(-1);
  if (ids.is_cpu()) {
    return cross_entropy_of_rows(
        class_ids("sparse_softmax_cross_entropy: labels", ids, num_classes).to(logits.device()), logits);
  }
  const at::Tensor whole = ids.to(logits.device(), at::kLong);
  const at::Tensor is_class = whole.ge(0).logical_and(whole.lt(num_classes));
  const at::Tensor rows = cross_entropy_of_rows(whole.clamp(0, num_classes - 1), logits);
  return at::where(is_class, rows, at::full({}, std::numeric_limits<double>::quiet_NaN(), rows.options()));
}

at::Tensor mean_sparse_softmax_cross_entropy(const at::Tensor& labels, const at::Tensor& logits) {
  const at::Tensor ids = class_ids("sparse_softmax_cross_entropy: labels",
                                   fit_classes("sparse_softmax_cross_entropy", labels, logits), logits.size(-1));
  return at::cross_entropy_loss(logits.reshape({-1, logits.size(-1)}), ids.to(logits.device()).flatten(), /*weight=*/{},
                                at::Reduction::Mean);
}

at::Tensor softmax_cross_entropy(const at::Tensor& labels, const at::Tensor& logits, double label_smoothing) {
  const char* loss = "softmax_cross_entropy";
  const at::Tensor fitted = fit(loss, labels.detach(), logits);
  require(logits.dim() >= 1, loss, ": logits are a scalar; wanted [n, classes]");
  const at::Tensor wanted = smooth(loss, fitted, label_smoothing, 1.0 / static_cast<double>(logits.size(-1)));
  return -(wanted * at::log_softmax(logits, -1)).sum(-1);
}

at::Tensor sigmoid_cross_entropy(const at::Tensor& labels, const at::Tensor& logits, double label_smoothing) {
  const char* loss = "sigmoid_cross_entropy";
  const at::Tensor wanted = smooth(loss, fit(loss, labels, logits), label_smoothing, 0.5);
  return at::binary_cross_entropy_with_logits(logits, wanted, /*weight=*/{}, /*pos_weight=*/{}, at::Reduction::None);
}

at::Tensor squared_error(const at::Tensor& labels, const at::Tensor& predictions) {
  return (predictions - fit("mean_squared_error", labels, predictions)).square();
}

at::Tensor absolute_error(const at::Tensor& labels, const at::Tensor& predictions) {
  return (predictions - fit("absolute_difference", labels, predictions)).abs();
}

at::Tensor hinge_loss(const at::Tensor& labels, const at::Tensor& logits) {
  const at::Tensor signs = fit("hinge_loss", labels, logits) * 2 - 1;
  return (1 - signs * logits).relu();
}

at::Tensor log_loss(const at::Tensor& labels, const at::Tensor& probabilities, double epsilon) {
  const at::Tensor wanted = fit("log_loss", labels, probabilities);
  return -wanted * (probabilities + epsilon).log() - (1 - wanted) * (1 - probabilities + epsilon).log();
}

at::Tensor huber_loss(const at::Tensor& labels, const at::Tensor& predictions, double delta) {
  require(delta > 0, "huber_loss: delta is ", delta, " and has to be above 0");
  return at::huber_loss(predictions, fit("huber_loss", labels, predictions), at::Reduction::None, delta);
}

at::Tensor cosine_distance(const at::Tensor& labels, const at::Tensor& predictions, int64_t axis) {
  const at::Tensor wanted = fit("cosine_distance", labels, predictions);
  require(axis >= -predictions.dim() && axis < predictions.dim(), "cosine_distance: axis is ", axis,
          " and predictions have shape ", predictions.sizes());
  return 1 - (wanted * predictions).sum(axis, /*keepdim=*/true);
}

}  // namespace belfry::internal
