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
  std::string name = "";  // default: "RMSprop"
};

// s = rho s + (1 - rho) g^2; v -= learning_rate g / (sqrt(s) + epsilon). Centered: s - m^2 in place of s, with
// m = rho m + (1 - rho) g. With momentum: u = momentum u + learning_rate g / sqrt(s + epsilon); v -= u. That is Keras's
// RMSprop of TensorFlow 2.15 (legacy), where s starts at 0. Slots "rms", "momentum", "mg" hold s, u and m, as far as
// they are in use. With row-sparse gradients and no momentum all rows' s decay. (Hinton, 2012, lecture 6e.)
class RMSProp : public Optimizer {
 public:
  explicit RMSProp(RMSPropOptions options = {});
};

}  // namespace belfry
