// The losses of single entries, before weights and reduction: the formulas of tf.compat.v1.losses.
//
// All keep the graph of their predictions and have their device and dtype; labels are brought to both. Labels of shape
// [n] fit predictions of shape [n, 1] and the other way round; everything else has to be equal: kInvalidArgument names
// the loss and both shapes, so nothing is broadcast by mistake. The loss has the shape of the predictions unless told
// otherwise. Pure functions: threads may call all of them.
#pragma once

#include <ATen/core/Tensor.h>

namespace belfry::internal {

// Labels are class numbers of an integer dtype, [n] or [n, 1] for logits [n, classes], or with more dimensions in
// front. The loss has the shape of the logits without their last dimension. kOutOfRange, with the first offender and
// its row, for a label that is no class; on a GPU, where looking would stop the queue, the loss of such a row is NaN
// instead.
at::Tensor sparse_softmax_cross_entropy(const at::Tensor& labels, const at::Tensor& logits);

// The mean of the above over all entries, of labels on the CPU: one fused operation where the entries are not needed.
at::Tensor mean_sparse_softmax_cross_entropy(const at::Tensor& labels, const at::Tensor& logits);

// Labels are probabilities of the shape of the logits, [n, classes]; the loss has shape [n] and no gradient for labels.
// Smoothing moves them to labels * (1 - s) + s / classes; kInvalidArgument unless 0 <= s <= 1.
at::Tensor softmax_cross_entropy(const at::Tensor& labels, const at::Tensor& logits, double label_smoothing = 0);

// Labels between 0 and 1, each entry a problem of its own. Smoothing: labels * (1 - s) + s / 2.
at::Tensor sigmoid_cross_entropy(const at::Tensor& labels, const at::Tensor& logits, double label_smoothing = 0);

at::Tensor squared_error(const at::Tensor& labels, const at::Tensor& predictions);
at::Tensor absolute_error(const at::Tensor& labels, const at::Tensor& predictions);

// max(0, 1 - (2 * labels - 1) * logits), with labels 0 and 1.
at::Tensor hinge_loss(const at::Tensor& labels, const at::Tensor& logits);

// -labels * log(p + epsilon) - (1 - labels) * log(1 - p + epsilon), with probabilities p.
at::Tensor log_loss(const at::Tensor& labels, const at::Tensor& probabilities, double epsilon = 1e-7);

// error^2 / 2 up to delta, delta * (|error| - delta / 2) beyond. kInvalidArgument unless delta > 0.
at::Tensor huber_loss(const at::Tensor& labels, const at::Tensor& predictions, double delta = 1);

// 1 - the sum along `axis` of labels * predictions, which are taken to have length 1 there. That dimension becomes 1.
at::Tensor cosine_distance(const at::Tensor& labels, const at::Tensor& predictions, int64_t axis);

}  // namespace belfry::internal
