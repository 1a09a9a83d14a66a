#include "distribute/internal/variable_of_step.h"

#include <ATen/ATen.h>

#include "core/error.h"
#include "distribute/internal/default_strategy.h"
#include "distribute/internal/initial_value.h"
#include "distribute/step_context.h"
#include "distribute/strategy.h"

namespace belfry::internal {

bool is_trainable(const VariableStore& store, const std::string& name, const std::function<at::Tensor()>& initial,
                  const VariableOptions& options) {
  if (options.trainable) return *options.trainable;
  if (options.synchronization == VariableSynchronization::kOnRead) return false;
  if (const Variable* known = store.find(name)) return known->kind() == VariableKind::kParameter;
  const RandomScope unused(0);
  return !at::isIntegralType(initial().scalar_type(), true);
}

void check_options(const std::string& name, const VariableOptions& options, const at::Tensor& value, int copies) {
  const bool integers = at::isIntegralType(value.scalar_type(), true);
  require(options.synchronization != VariableSynchronization::kNone || copies == 1, "variable '", name,
          "': synchronization NONE is not for variables with copies; ON_WRITE and ON_READ are");
  require(options.aggregation != VariableAggregation::kMean || !integers, "variable '", name, "' holds ",
          value.scalar_type(), ", of which there is no mean; aggregate by SUM");
  require(!options.trainable.value_or(false) || !integers, "variable '", name, "' holds ", value.scalar_type(),
          ", which no optimizer can move: it cannot be trainable");
}

std::shared_ptr<VariableState> variable_of_step(StepContext& step, const std::string& name,
                                                const std::function<at::Tensor()>& initial,
                                                const VariableOptions& options) {
  VariableStore& store = step.store();
  const bool trainable = is_trainable(store, name, initial, options);
  const auto make = [&] {
    at::Tensor value = initial();
    check_options(name, options, value, /*copies=*/1);
    return value;
  };
  const bool is_leaf = trainable || options.synchronization != VariableSynchronization::kOnRead;
  if (is_leaf) step.replica().variable(name, make, trainable);
  const VariableKind kind = trainable ? VariableKind::kParameter : VariableKind::kState;
  Variable& master = store.get_or_create(name, kind, [&] { return make_initial(store.seed(), name, make); });
  return std::make_shared<VariableState>(default_strategy(), master, options, store);
}

}  // namespace belfry::internal
