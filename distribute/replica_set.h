// The replicas of a session.
#pragma once

#include <c10/core/Stream.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device.h"
#include "replica.h"
#include "replica_group.h"
#include "step_context.h"

namespace belfry {

enum class VariablePlacement {
  // All on one device: the lone one, or the CPU beside several.
  kCentral,
  // The k-th parameter or buffer on the k-th device, round and round: none of them holds all.
  kRoundRobin,
  // Where the store was told to (VariableStore::place_on).
  kOfStore,
};

// Owns replicas and their threads for as long as the session lasts, and commits what replicas leave behind after a step
// beside gradients: buffers and queued assignments. Used by the session's thread, while no replica runs.
class ReplicaSet {
 public:
  // `noun` is what messages call a replica.
  explicit ReplicaSet(VariableStore& store, std::string noun = "tower");
  ~ReplicaSet();
  ReplicaSet(const ReplicaSet&) = delete;
  ReplicaSet& operator=(const ReplicaSet&) = delete;

  VariableStore& store() const { return store_; }
  const std::string& noun() const { return noun_; }
  // Makes one replica for each device; replicas that are there keep their modules. kFailedPrecondition when replica i
  // is in use, or a variable is there, on another device.
  void use(const std::vector<LogicalDevice>& devices, VariablePlacement placement = VariablePlacement::kCentral);
  int size() const { return static_cast<int>(replicas_.size()); }
  // Replica 0 is there from the start, on cpu:0 until use() is called.
  Replica& replica(int i);
  // Threads for size() replicas.
  ReplicaGroup& group();
  // ReplicaGroup::run on the first `active` replicas. With several, each that is on a GPU works on a stream of its own
  // there, begun after and followed by that GPU's default stream.
  void run(int active, const std::function<void(int)>& work);

  // Before a step.
  void begin_step();
  // Checks, with nothing written, what the replicas of `steps` left: kFailedPrecondition where integer or bool buffers
  // differ between them, naming variable and towers.
  void prepare(const std::vector<const StepContext*>& steps) const;
  // Buffers that the forward passes wrote to become the mean of the replicas that took part, weighted by
  // LossPolicy::row_weight (integer and bool ones agree); then assignments in the order of the replicas. Replicas that
  // sat idle get the buffers too. A write is known by the tensor's version counter, which data(), data_ptr() and
  // kernels of one's own pass by: what they write to a buffer has to be told by an operation in place. Running
  // statistics of batch norm, which LibTorch itself writes without a count, are one-dimensional: floating-point buffers
  // of one dimension are always taken as written.
  void commit(const std::vector<const StepContext*>& steps);
  // Undoes what the forward passes did to buffers.
  void roll_back();
  // Whether a replica's forward pass wrote into a variable since begin_step().
  bool leaves_written() const;
  // After variables were written; see Replica::bump_leaves.
  void bump_leaves();

 private:
  void commit_buffers(const std::vector<const StepContext*>& steps);
  bool is_written(const Replica& replica, size_t buffer) const;
  void note_versions(const Replica& replica);

  VariableStore& store_;
  const std::string noun_;
  std::vector<std::unique_ptr<Replica>> replicas_;
  std::vector<std::optional<c10::Stream>> streams_;  // of each replica, once they have run at once
  // Of each replica's buffers, when their values were last those of the variables: the tensors' version counters.
  std::vector<std::vector<uint32_t>> versions_;
  std::unique_ptr<ReplicaGroup> group_;
};

}  // namespace belfry
