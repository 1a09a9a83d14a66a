// Gradient descent with momentum.
#pragma once

#include "optimizer.h"

namespace belfry {

struct MomentumOptions {
  LearningRate learning_rate = 0.01;
  double momentum = 0.9;  // in [0, 1)
  bool use_nesterov = false;
  std::string name = "";  // default: "Momentum"
};

// a = momentum * a + g; v -= learning_rate * a, or with Nesterov's form v -= learning_rate * (g + momentum * a). The
// slot "momentum" holds a, which starts at 0. With row-sparse gradients, rows that nobody looked up neither move nor
// lose momentum.
class Momentum : public Optimizer {
 public:
  explicit Momentum(MomentumOptions options = {});
};

}  // namespace belfry
