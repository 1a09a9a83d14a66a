// Which strategy, and which side of it, the code that runs on this thread is on.
#pragma once

#include <memory>

namespace belfry {

class ReplicaContext;
class Strategy;
namespace internal {
class ContextScope;
}

// A thread is in one of three states. Outside everything, the default strategy is current: one replica, which is there
// without being asked for. In the cross-replica context (inside Strategy::scope or a merge function) code speaks for
// all replicas. In a replica context (inside Strategy::run) it speaks for one. All of these are per thread.

// The strategy of the innermost scope or run; the default one outside.
Strategy& get_strategy();
// Whether that is another one than the default.
bool has_strategy();
bool in_cross_replica_context();
// Null in a cross-replica context; of the default strategy outside everything.
ReplicaContext* get_replica_context();

// Makes `strategy` current on this thread for good, as a scope without end; null: none again. The strategy has to live
// as long. kFailedPrecondition inside a scope or run.
void experimental_set_strategy(Strategy* strategy);

// What Strategy::scope gives: the strategy is current, and the thread in its cross-replica context, while it lives. To
// be destroyed on the thread that made it, before those made before it.
class StrategyScope {
 public:
  // kFailedPrecondition inside another strategy's scope, and in a replica context.
  explicit StrategyScope(Strategy& strategy);
  ~StrategyScope();
  StrategyScope(const StrategyScope&) = delete;
  StrategyScope& operator=(const StrategyScope&) = delete;

 private:
  std::unique_ptr<internal::ContextScope> context_;
};

}  // namespace belfry
