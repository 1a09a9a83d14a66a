#include "distribute/reduce_op.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "core/error.h"

namespace belfry {

const char* to_string(ReduceOp op) { return op == ReduceOp::kSum ? "SUM" : "MEAN"; }

ReduceOp parse_reduce_op(std::string_view name) {
  std::string upper(name);
  std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return std::toupper(c); });
  require(upper == "SUM" || upper == "MEAN", "reduce operation '", name, "': SUM or MEAN is wanted");
  return upper == "SUM" ? ReduceOp::kSum : ReduceOp::kMean;
}

}  // namespace belfry
