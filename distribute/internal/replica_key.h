// The dispatch key of what replicas do otherwise than LibTorch.
#pragma once

#include <c10/core/DispatchKey.h>

namespace belfry::internal {

// A key that LibTorch itself leaves to its tests: kernels under it run before all others, autograd's too, in a thread
// that includes it. RandomScope does.
inline constexpr auto kReplicaKey = c10::DispatchKey::TESTING_ONLY_GenericMode;

}  // namespace belfry::internal
