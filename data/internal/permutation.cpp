#include "data/internal/permutation.h"

#include <ATen/ATen.h>

#include <numeric>
#include <random>
#include <utility>

namespace belfry::data_internal {
namespace {

// In [0, bound). The bias is below bound / 2^64.
uint64_t below(std::mt19937_64& random, uint64_t bound) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>((static_cast<Wide>(random()) * bound) >> 64);
}

}  // namespace

at::Tensor permutation(uint64_t seed, int64_t first, int64_t count) {
  at::Tensor order = at::empty({count}, at::kLong);
  auto* values = order.mutable_data_ptr<int64_t>();
  std::iota(values, values + count, first);
  std::mt19937_64 random(seed);
  for (int64_t i = count - 1; i > 0; --i) std::swap(values[i], values[below(random, static_cast<uint64_t>(i) + 1)]);
  return order;
}

}  // namespace belfry::data_internal
