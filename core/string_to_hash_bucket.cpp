#include "core/string_to_hash_bucket.h"

#include <ATen/ops/empty.h>

#include <algorithm>

#include "core/error.h"
#include "core/hash64.h"

namespace belfry {

at::Tensor string_to_hash_bucket_fast(const StringTensor& strings, int64_t num_buckets) {
  require(num_buckets > 0, "string_to_hash_bucket_fast: ", num_buckets, " buckets; at least 1 was wanted");
  at::Tensor buckets = at::empty(strings.sizes(), at::kLong);
  std::transform(strings.begin(), strings.end(), buckets.mutable_data_ptr<int64_t>(), [&](const std::string& text) {
    return static_cast<int64_t>(hash64(text) % static_cast<uint64_t>(num_buckets));
  });
  return buckets;
}

}  // namespace belfry
