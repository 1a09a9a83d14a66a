// Many sums as few.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace belfry::internal {

// Makes every part the sum of all; they are contiguous, of one dtype and size.
using SumInPlace = std::function<void(std::vector<at::Tensor>& parts)>;

// What each replica gets of the sums over replicas of what they have at each place: result[replica][place], on the
// replica's device, from all[replica][place]. `sum` is called once for each pack: tensors of one dtype laid side by
// side, up to `bytes_per_pack` of them (a larger one is a pack of its own; 0: no limit). The replicas agree in number,
// shapes and dtypes.
std::vector<std::vector<at::Tensor>> packed_sum(const std::vector<std::vector<at::Tensor>>& all, int64_t bytes_per_pack,
                                                const SumInPlace& sum);

}  // namespace belfry::internal
