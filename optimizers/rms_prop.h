// RMSProp: step sizes from a running mean of squared gradients.
#pragma once

#include "optimizer.h"

namespace belfry {

struct RMSPropOptions {
  LearningRate learning_rate = 0.001;
  double rho = 0.9;       // in [0, 1)
  double momentum = 0;    // in [0, 1)
  double epsilon = 1e-7;  // above 0
  bool centered = false;  // by the variance rather than the mean square
  // tf.compat.v1 takes 1 and true here, and epsilon 1e-10.
  double initial_mean_square = 0;
  bool epsilon_inside_root = false;
  std::string name = "";  // default: "RMSprop"
};

// s = rho s + (1 - rho) g^2; v -= learning_rate g / (sqrt(s) + epsilon). Centered: s - m^2 in place of s, with
// m = rho m + (1 - rho) g. With momentum, or epsilon_inside_root: u = momentum u + learning_rate g / sqrt(s + epsilon);
// v -= u. The defaults are those of Keras's RMSprop in TensorFlow 2.15 (legacy). Slots "rms", "momentum", "mg" hold s,
// u and m, as far as they are in use. With row-sparse gradients, rows that nobody looked up stay, but for their s in
// the first form, which decays. (Hinton, 2012, lecture 6e.)
class RMSProp : public Optimizer {
 public:
  explicit RMSProp(RMSPropOptions options = {});
};

}  // namespace belfry
