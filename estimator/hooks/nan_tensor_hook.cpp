#include "estimator/hooks/nan_tensor_hook.h"

#include <ATen/ATen.h>

#include <cmath>

#include "core/error.h"
#include "core/log.h"

namespace belfry {
namespace {

std::string guilty_towers(const EstimatorSpec& spec) {
  std::string text;
  for (size_t i = 0; i < spec.tower_losses.size(); ++i) {
    if (std::isnan(spec.tower_losses[i].item<double>())) text += concat(text.empty() ? " in tower " : ", ", i);
  }
  return text;
}

}  // namespace

void NanTensorHook::before_apply(RunContext& context) {
  if (context.vetoed() || !std::isnan(context.loss())) return;
  const std::string message =
      concat("the loss of step ", context.global_step() + 1, " is not a number", guilty_towers(context.spec()),
             "; the variables are those of step ", context.global_step());
  if (fail_on_nan_loss_) throw_error(ErrorKind::kNanLoss, message);
  log_warning(message, "; training stops");
  context.veto();
  context.request_stop("the loss is not a number");
}

}  // namespace belfry
