#include "data/batch_sizes.h"

#include "core/error.h"

namespace belfry {

std::vector<int64_t> batch_sizes_for_worker(int64_t global_batch_size, int64_t workers, int64_t replicas_per_worker,
                                            int64_t worker) {
  require(global_batch_size > 0 && workers > 0 && replicas_per_worker > 0, "batch_sizes_for_worker: a global batch of ",
          global_batch_size, " for ", workers, " workers with ", replicas_per_worker,
          " replicas each; at least 1 of all three was wanted");
  require(worker >= 0 && worker < workers, "batch_sizes_for_worker: the worker is ", worker, "; 0 to ", workers - 1,
          " was wanted");
  const int64_t replicas = workers * replicas_per_worker;
  const int64_t floor = global_batch_size / replicas;
  const int64_t with_one_more = global_batch_size % replicas;
  std::vector<int64_t> sizes;
  for (int64_t step = 0; step < workers; ++step) {
    const int64_t first = (worker + step) % workers * replicas_per_worker;
    for (int64_t i = first; i < first + replicas_per_worker; ++i) sizes.push_back(floor + (i < with_one_more));
  }
  return sizes;
}

}  // namespace belfry
