// Adam: steps from running means of the gradient and of its square.
#pragma once

#include "optimizer.h"

namespace belfry {

struct AdamOptions {
  LearningRate learning_rate = 0.001;
  double beta1 = 0.9;     // in [0, 1)
  double beta2 = 0.999;   // in [0, 1)
  double epsilon = 1e-8;  // Keras, and canned estimators by name, take 1e-7
  std::string name = "";  // default: "Adam"
};

// t counts the updates from 1: m = beta1 m + (1 - beta1) g; s = beta2 s + (1 - beta2) g^2;
// v -= learning_rate sqrt(1 - beta2^t) / (1 - beta1^t) * m / (sqrt(s) + epsilon). As in TensorFlow, epsilon is not part
// of the bias correction (LibTorch's own Adam divides sqrt(s) before it adds epsilon). Slots "m" and "v". A row-sparse
// gradient counts as zero elsewhere: all rows' means decay and all rows move. (Kingma, Ba, 2015, end of section 2.)
class Adam : public Optimizer {
 public:
  explicit Adam(AdamOptions options = {});
};

}  // namespace belfry
