// How the copies of a variable hang together.
#pragma once

#include <optional>

namespace belfry {

enum class VariableSynchronization {
  kAuto,     // kOnWrite
  kNone,     // refused where there are copies
  kOnWrite,  // copies are equal at all times
  kOnRead,   // every replica has its own, and reading outside a replica makes one value of them
};

// What becomes of values that replicas assign (kOnWrite), or of the copies when they are read (kOnRead).
enum class VariableAggregation { kNone, kSum, kMean, kOnlyFirstReplica };

const char* to_string(VariableSynchronization synchronization);
const char* to_string(VariableAggregation aggregation);

struct VariableOptions {
  // Whether optimizers may move it. None: yes, but for integers, and for kOnRead, whose copies no optimizer of all
  // replicas can move: for them it is a mark alone.
  std::optional<bool> trainable = {};
  VariableSynchronization synchronization = VariableSynchronization::kAuto;
  VariableAggregation aggregation = VariableAggregation::kNone;

  friend bool operator==(const VariableOptions&, const VariableOptions&) = default;
};

}  // namespace belfry
