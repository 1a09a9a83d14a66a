// The thread's distribution context.
#pragma once

#include <string>

namespace belfry {

class ReplicaContext;
class Strategy;

namespace internal {

struct ThreadContext {
  Strategy* strategy = nullptr;       // null: the default one
  ReplicaContext* replica = nullptr;  // null: cross-replica, or the default replica outside everything
  bool scoped = false;                // inside a scope or run, which experimental_set_strategy may not end
  bool merging = false;               // in a merge function, which speaks for replicas that wait
};

ThreadContext& thread_context();

// Puts a context on the thread while it lives.
class ContextScope {
 public:
  explicit ContextScope(ThreadContext context) : outer_(thread_context()) { thread_context() = context; }
  ~ContextScope() { thread_context() = outer_; }
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 private:
  ThreadContext outer_;
};

// kFailedPrecondition when the thread is in a replica context (`advice` says what to call there), or in the scope of
// another strategy; `call` begins the message.
void check_may_enter(const Strategy& strategy, const std::string& call, const std::string& advice);

}  // namespace internal
}  // namespace belfry
