// How many rows of a global batch each replica gets.
#pragma once

#include <cstdint>
#include <vector>

namespace belfry {

// The table that tf.distribute goes by when every worker reads all batches (AutoShardPolicy::kOff): the sizes of the
// pieces that `worker` takes one after another, workers * replicas_per_worker of them, and then from the front again.
// Of each global batch the replicas get a floored share, and the first (global_batch_size mod replicas in all) one
// more; from step to step the workers' shares rotate, so that over `workers` steps each has as many rows as any other.
// A piece may be 0. kInvalidArgument for a batch size, count or index that cannot be.
std::vector<int64_t> batch_sizes_for_worker(int64_t global_batch_size, int64_t workers, int64_t replicas_per_worker,
                                            int64_t worker);

}  // namespace belfry
