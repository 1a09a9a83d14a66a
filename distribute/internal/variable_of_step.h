// Variables by their options.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <string>

#include "distribute/internal/variable_state.h"
#include "distribute/variable_options.h"

namespace belfry {

class StepContext;
class VariableStore;

namespace internal {

// Whether optimizers may move the variable: as the options say, else by what initial() makes and kOnRead.
bool is_trainable(const VariableStore& store, const std::string& name, const std::function<at::Tensor()>& initial,
                  const VariableOptions& options);

// kInvalidArgument where the options do not fit `value`, or the number of copies.
void check_options(const std::string& name, const VariableOptions& options, const at::Tensor& value, int copies);

// The variable of a model_fn that runs without a strategy.
std::shared_ptr<VariableState> variable_of_step(StepContext& step, const std::string& name,
                                                const std::function<at::Tensor()>& initial,
                                                const VariableOptions& options);

}  // namespace internal
}  // namespace belfry
