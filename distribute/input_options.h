// How batches reach the replicas.
#pragma once

#include <cstdint>

namespace belfry {

enum class InputReplicationMode {
  kPerWorker,   // one input pipeline for each worker, whose replicas share it
  kPerReplica,  // one for each replica
};

struct InputOptions {
  // Whether each piece is moved to its replica's device; false leaves it on the CPU.
  bool experimental_fetch_to_device = true;
  // kPerReplica is kUnimplemented.
  InputReplicationMode experimental_replication_mode = InputReplicationMode::kPerWorker;
  // Wants kPerReplica and no fetching; kInvalidArgument otherwise.
  bool experimental_place_dataset_on_device = false;
  // Batches read ahead for each replica; 0 reads when asked. kInvalidArgument below 0.
  int64_t experimental_per_replica_buffer_size = 1;
};

}  // namespace belfry
