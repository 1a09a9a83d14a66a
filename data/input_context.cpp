#include "data/input_context.h"

#include "core/error.h"

namespace belfry {

int64_t InputContext::get_per_replica_batch_size(int64_t global_batch_size) const {
  require(num_replicas_in_sync > 0, "InputContext: num_replicas_in_sync is ", num_replicas_in_sync);
  require(global_batch_size >= 0 && global_batch_size % num_replicas_in_sync == 0, "InputContext: a global batch of ",
          global_batch_size, " cannot be divided among ", num_replicas_in_sync, " replicas");
  return global_batch_size / num_replicas_in_sync;
}

}  // namespace belfry
