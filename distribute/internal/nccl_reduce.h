// Sums over GPUs.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace belfry::internal {

// Whether this build has NCCL: LibTorch's GPU half and CUDA's headers were found. CMake says so when it configures.
bool has_nccl();

// The sum of `parts`, written to parts[root] by NCCL, on the current streams. The parts are contiguous, of one floating
// dtype and size, and each is on a GPU of its own. LibTorch keeps one communicator for each set of GPUs for the life of
// the process. In which order the parts are added up is NCCL's choice, so sums of three and more can differ from those
// in tower order by a rounding. One call at a time in a process: a second waits. kInternal, with NCCL's own words, when
// NCCL fails; kUnimplemented without has_nccl().
void nccl_reduce(std::vector<at::Tensor>& parts, size_t root);
// The same, written to every part.
void nccl_all_reduce(std::vector<at::Tensor>& parts);

// Why NCCL cannot add these up, null where it can: what nccl_reduce asks of its parts, and has_nccl().
const char* why_not_nccl(const std::vector<at::Tensor>& parts);

}  // namespace belfry::internal
