// How replicas exchange values.
#pragma once

#include <cstdint>
#include <optional>

namespace belfry {

enum class CommunicationImplementation {
  kAuto,          // NCCL where every replica has a GPU of its own, else shared memory
  kSharedMemory,  // replicas of one process read each other's tensors
  kNccl,
};

const char* to_string(CommunicationImplementation implementation);

// Of a strategy, or of one all_reduce or all_gather, where it counts before the strategy's.
struct CommunicationOptions {
  // Bytes of tensors that NCCL sends as one; 0: all. Shared memory has nothing to send and ignores it. Negative is
  // kInvalidArgument.
  int64_t bytes_per_pack = 0;
  // How long a replica waits for the others, in seconds, before all end with kFailedPrecondition that names those
  // missing. None: as long as they run. 0 or less is kInvalidArgument.
  std::optional<double> timeout_seconds = {};
  CommunicationImplementation implementation = CommunicationImplementation::kAuto;
};

// Refuses what can never be right; `what` names the call.
void check(const CommunicationOptions& options, const char* what);

}  // namespace belfry
