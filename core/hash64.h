// The hash of names, keys and buckets.
#pragma once

#include <cstdint>
#include <string_view>

namespace belfry {

// FarmHash's Fingerprint64: the same on every machine and in every release, and the hash of TensorFlow's buckets.
uint64_t hash64(std::string_view bytes);

// Order matters. For seeds that depend on several numbers.
uint64_t hash64_combine(uint64_t seed, uint64_t value);

}  // namespace belfry
