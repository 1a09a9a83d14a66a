#include "estimator/canned/dnn.h"

#include "core/error.h"
#include "estimator/canned/internal/dnn.h"
#include "estimator/model_context.h"

namespace belfry {

void DnnOptions::validate(const std::string& user) const {
  for (size_t i = 0; i < hidden_units.size(); ++i) {
    require(hidden_units[i] >= 1, user, ": hidden_units[", i, "] is ", hidden_units[i], "; 1 or more is wanted");
  }
  require(dropout >= 0 && dropout < 1, user, ": dropout is ", dropout, "; at least 0 and below 1 is wanted");
}

at::Tensor dnn_logits(const at::Tensor& x, int64_t logits_dimension, const DnnOptions& options, ModelContext& ctx,
                      const std::string& name) {
  options.validate("dnn_logits");
  require(x.dim() == 2, "dnn_logits: x has shape ", x.sizes(), "; [batch, inputs] is wanted");
  const auto dnn =
      ctx.module(name, [&] { return std::make_shared<internal::Dnn>(x.size(1), options, logits_dimension); });
  // Of the tower whose summaries count.
  if (!ctx.training() || ctx.tower_index() > 0 || ctx.config().save_summary_steps == 0) return dnn->forward(x, {});
  return dnn->forward(x, [&](const std::string& layer, const at::Tensor& output) {
    const std::string scope = name + "/" + layer;
    ctx.summary_zero_fraction(scope + "/fraction_of_zero_values", output);
    ctx.summary_histogram(scope + "/activation", output);
  });
}

}  // namespace belfry
