#include "distribute/variable_options.h"

namespace belfry {

const char* to_string(VariableSynchronization synchronization) {
  switch (synchronization) {
    case VariableSynchronization::kAuto:
      return "AUTO";
    case VariableSynchronization::kNone:
      return "NONE";
    case VariableSynchronization::kOnWrite:
      return "ON_WRITE";
    case VariableSynchronization::kOnRead:
      return "ON_READ";
  }
  return "?";
}

const char* to_string(VariableAggregation aggregation) {
  switch (aggregation) {
    case VariableAggregation::kNone:
      return "NONE";
    case VariableAggregation::kSum:
      return "SUM";
    case VariableAggregation::kMean:
      return "MEAN";
    case VariableAggregation::kOnlyFirstReplica:
      return "ONLY_FIRST_REPLICA";
  }
  return "?";
}

}  // namespace belfry
