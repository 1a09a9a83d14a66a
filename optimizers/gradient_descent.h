// Plain gradient descent.
#pragma once

#include "optimizer.h"

namespace belfry {

struct GradientDescentOptions {
  LearningRate learning_rate = 0.01;
  std::string name = "";  // default: "SGD"
};

// v -= learning_rate * g. With row-sparse gradients, rows that nobody looked up stay.
class GradientDescent : public Optimizer {
 public:
  // kInvalidArgument for a constant learning rate below 0 or not finite.
  explicit GradientDescent(GradientDescentOptions options = {});
};

}  // namespace belfry
