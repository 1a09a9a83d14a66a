// How initial values are made.
#pragma once

#include <ATen/core/grad_mode.h>
#include <c10/core/InferenceMode.h>

#include <cstdint>
#include <string>

#include "core/hash64.h"
#include "distribute/random_scope.h"

namespace belfry::internal {

// make(), with random numbers that depend on seed and name alone. Parameters are made under grad mode and never under
// InferenceMode, whose tensors cannot be trained.
template <class Make>
auto make_initial(uint64_t seed, const std::string& name, const Make& make) {
  const c10::InferenceMode inference(false);
  const at::AutoGradMode grad(true);
  const RandomScope random(hash64_combine(seed, hash64(name)));
  return make();
}

}  // namespace belfry::internal
