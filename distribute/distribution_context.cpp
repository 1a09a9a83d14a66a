#include "distribute/distribution_context.h"

#include "core/error.h"
#include "distribute/internal/context_stack.h"
#include "distribute/internal/default_strategy.h"
#include "distribute/replica_context.h"
#include "distribute/strategy.h"

namespace belfry {
namespace internal {

ThreadContext& thread_context() {
  thread_local ThreadContext context;
  return context;
}

void check_may_enter(const Strategy& strategy, const std::string& call, const std::string& advice) {
  const ThreadContext& now = thread_context();
  if (now.replica) {
    fail(ErrorKind::kFailedPrecondition, call, " was called by replica ", now.replica->replica_id(), " inside a run; ",
         advice);
  }
  if (now.strategy && now.strategy != &strategy) {
    fail(ErrorKind::kFailedPrecondition, call, " of ", strategy.name(),
         " was called in the scope of another strategy, ", now.strategy->name(),
         "; scopes of one strategy only can be nested");
  }
}

}  // namespace internal

Strategy& get_strategy() {
  const internal::ThreadContext& now = internal::thread_context();
  return now.strategy ? *now.strategy : internal::default_strategy();
}

bool has_strategy() { return internal::thread_context().strategy != nullptr; }

bool in_cross_replica_context() {
  const internal::ThreadContext& now = internal::thread_context();
  return !now.replica && (now.strategy || now.scoped);
}

ReplicaContext* get_replica_context() {
  if (ReplicaContext* replica = internal::thread_context().replica) return replica;
  if (in_cross_replica_context()) return nullptr;
  thread_local ReplicaContext alone(internal::default_strategy(), 0, nullptr);
  return &alone;
}

void experimental_set_strategy(Strategy* strategy) {
  internal::ThreadContext& now = internal::thread_context();
  if (now.scoped) {
    fail(ErrorKind::kFailedPrecondition, "experimental_set_strategy was called inside a ",
         now.replica ? "run" : "scope", " of ", get_strategy().name(), "; it sets what is current outside of them");
  }
  now.strategy = strategy;
}

StrategyScope::StrategyScope(Strategy& strategy) {
  internal::check_may_enter(strategy, "scope", "code of a replica is in its strategy's hands already: use merge_call");
  context_ = std::make_unique<internal::ContextScope>(internal::ThreadContext{&strategy, nullptr, true});
}

StrategyScope::~StrategyScope() = default;

}  // namespace belfry
