// How values of several replicas become one.
#pragma once

#include <string>
#include <string_view>

namespace belfry {

enum class ReduceOp { kSum, kMean };

// "SUM", "MEAN".
const char* to_string(ReduceOp op);
// "sum" or "mean", in any case; kInvalidArgument, with the word, for anything else.
ReduceOp parse_reduce_op(std::string_view name);

// What reduce and all_reduce take: an operation, or its name in any case.
class ReduceOpArgument {
 public:
  ReduceOpArgument(ReduceOp op) : op_(op) {}                                 // NOLINT(google-explicit-constructor)
  ReduceOpArgument(std::string_view name) : op_(parse_reduce_op(name)) {}    // NOLINT(google-explicit-constructor)
  ReduceOpArgument(const char* name) : op_(parse_reduce_op(name)) {}         // NOLINT(google-explicit-constructor)
  ReduceOpArgument(const std::string& name) : op_(parse_reduce_op(name)) {}  // NOLINT(google-explicit-constructor)
  operator ReduceOp() const { return op_; }                                  // NOLINT(google-explicit-constructor)

 private:
  ReduceOp op_;
};

}  // namespace belfry
