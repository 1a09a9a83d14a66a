// Batch norm of plain LibTorch modules inside a replica.
#pragma once

namespace belfry::internal {

// Registers, under kReplicaKey, what at::batch_norm does in a step whose context syncs batch norm: sync_batch_norm,
// when it is training. Everywhere else it is LibTorch's own. Once a process.
void register_batch_norm();

}  // namespace belfry::internal
