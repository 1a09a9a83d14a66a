// The threads of the replicas.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "rendezvous.h"

namespace belfry {

// Runs one function on every replica at once. Replica 0 runs on the caller's thread, each other one on a thread of its
// own that lives as long as the group. (Were replica 0 on a thread of its own too, the caller would have to wait beside
// it: one thread more than there are cores in the common case, and two wake-ups a step.)
//
// One thread at a time may call run(). Used by the framework; users meet it through StepContext.
class ReplicaGroup {
 public:
  // kInvalidArgument unless replicas >= 1. `noun` is what messages call a replica.
  explicit ReplicaGroup(int replicas, const std::string& noun = "tower");
  ~ReplicaGroup();
  ReplicaGroup(const ReplicaGroup&) = delete;
  ReplicaGroup& operator=(const ReplicaGroup&) = delete;

  int size() const;
  Rendezvous& rendezvous();

  // Calls work(0) ... work(active - 1), each with the caller's thread-local state (grad mode, autocast) and with
  // cores / active threads for its operations, and returns when all have ended. When some throw, the others' waits in
  // the rendezvous end, and the exception of the lowest-numbered replica that failed by itself is thrown here; the log
  // names the replica. Resets the rendezvous first.
  void run(int active, const std::function<void(int)>& work);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace belfry
