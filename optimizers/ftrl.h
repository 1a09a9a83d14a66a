// FTRL-Proximal: follow the regularized leader, for sparse linear models.
#pragma once

#include "optimizer.h"

namespace belfry {

struct FtrlOptions {
  LearningRate learning_rate = 0.001;      // above 0
  double learning_rate_power = -0.5;       // 0 or below
  double initial_accumulator_value = 0.1;  // 0 or above
  double l1_regularization_strength = 0;   // these are 0 or above
  double l2_regularization_strength = 0;
  double l2_shrinkage_regularization_strength = 0;
  double beta = 0;
  std::string name = "";  // default: "Ftrl"
};

// With r the rate, p = -learning_rate_power and l2' = l2 + beta / (2 r):
// n' = n + g^2; z += g + 2 shrinkage v - (n'^p - n^p) / r * v; v = (sign(z) l1 - z) / (n'^p / r + 2 l2') where |z| >
// l1, else 0. Slots "accumulator" (n) and "linear" (z, from 0: a variable that does not start at 0 jumps at its first
// update, as in TensorFlow). With row-sparse gradients, rows that nobody looked up stay. (McMahan et al., 2013.)
class Ftrl : public Optimizer {
 public:
  explicit Ftrl(FtrlOptions options = {});
};

}  // namespace belfry
