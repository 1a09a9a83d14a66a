// Adagrad: step sizes from the sum of squared gradients.
#pragma once

#include "optimizer.h"

namespace belfry {

struct AdagradOptions {
  LearningRate learning_rate = 0.001;
  double initial_accumulator_value = 0.1;  // above 0 unless epsilon is
  double epsilon = 0;                      // tf.compat.v1 has none; Keras, and canned estimators by name, take 1e-7
  std::string name = "";                   // default: "Adagrad"
};

// a += g * g; v -= learning_rate * g / (sqrt(a) + epsilon). The slot "accumulator" holds a. With row-sparse gradients,
// rows that nobody looked up stay. (Duchi, Hazan, Singer, 2011.)
class Adagrad : public Optimizer {
 public:
  explicit Adagrad(AdagradOptions options = {});
};

}  // namespace belfry
