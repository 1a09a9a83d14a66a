// What an optimizer does to a variable, once its gradient is known.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace belfry {

// The smallest piece that a rule can update by itself. Towers share an update out along it.
enum class UpdateGrain {
  kElement,   // every element for itself, as SGD or Adam
  kRow,       // needs whole rows of dimension 0
  kVariable,  // needs the whole variable, as a trust ratio does
};

// A state tensor that the rule keeps for each variable, of its shape and dtype.
struct SlotSpec {
  std::string name;
  double initial = 0;
};

struct UpdateArguments {
  double learning_rate = 0;
  // How often this optimizer has been applied, this time included; 0 for rules that do not count.
  int64_t count = 0;
};

// Parallel lists of one dtype and device: parameters[i] is to be moved by gradients[i], with slots[s][i] for the s-th
// SlotSpec. All tensors of one i have one shape and one dense layout.
struct UpdateLists {
  std::vector<at::Tensor> parameters;
  std::vector<at::Tensor> gradients;
  std::vector<std::vector<at::Tensor>> slots;
};

// Stateless: everything that lasts is in the slots. Users write their own by deriving from it and handing it to
// Optimizer. Threads share one object, each with lists of its own.
class UpdateRule {
 public:
  virtual ~UpdateRule() = default;

  // The default name of optimizers with this rule, and so part of their slots' names: "Adagrad".
  virtual std::string name() const = 0;
  virtual UpdateGrain grain() const { return UpdateGrain::kElement; }
  virtual std::vector<SlotSpec> slots() const { return {}; }
  // Whether apply() wants UpdateArguments::count.
  virtual bool counts_updates() const { return false; }
  // Whether a rate of 0 is an error, as where the formula divides by it. One below 0 always is.
  virtual bool wants_positive_rate() const { return false; }
  // Whether rows without a gradient move too (Adam's do, by their momentum). Then a row-sparse gradient is made dense.
  virtual bool moves_all_rows() const { return false; }

  // In place, without autograd. The gradients' memory is not to be written to: others may hold it too.
  virtual void apply(const UpdateArguments& arguments, UpdateLists& lists) const = 0;
};

}  // namespace belfry
