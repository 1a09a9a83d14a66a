// Gradient clipping, between compute_gradients and apply_gradients.
#pragma once

#include "train_op.h"

namespace belfry {

// sqrt of the sum of squares over all gradients; a float64 scalar. Undefined gradients are left out.
at::Tensor global_norm(const GradientsAndVariables& gradients);

// All gradients times clip_norm / max(global_norm, clip_norm). kInvalidArgument unless clip_norm > 0. A norm that is
// not finite makes every gradient not a number, so that the fault shows.
GradientsAndVariables clip_by_global_norm(GradientsAndVariables gradients, double clip_norm);

// Every element into [low, high].
GradientsAndVariables clip_by_value(GradientsAndVariables gradients, double low, double high);

}  // namespace belfry
