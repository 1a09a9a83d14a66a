#include "distribute/internal/default_strategy.h"

#include "distribute/strategy.h"

namespace belfry::internal {
namespace {

class DefaultStrategy : public Strategy {
 public:
  DefaultStrategy() : Strategy("the default strategy", {parse_device("cpu:0")}, parse_device("cpu:0"), {}) {}
};

}  // namespace

Strategy& default_strategy() {
  static DefaultStrategy strategy;
  return strategy;
}

}  // namespace belfry::internal
