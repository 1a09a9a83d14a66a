// Which part of the input a worker reads.
#pragma once

#include <cstdint>

namespace belfry {

// What an input function that shards by itself needs to know. The defaults are those of one process with one device.
struct InputContext {
  int64_t num_input_pipelines = 1;
  int64_t input_pipeline_id = 0;
  int64_t num_replicas_in_sync = 1;

  // global_batch_size / num_replicas_in_sync; kInvalidArgument, with both numbers, when that leaves a rest.
  int64_t get_per_replica_batch_size(int64_t global_batch_size) const;
};

}  // namespace belfry
