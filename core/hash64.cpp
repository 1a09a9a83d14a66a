#include "core/hash64.h"

#include <farmhash.h>

namespace belfry {

uint64_t hash64(std::string_view bytes) { return util::Fingerprint64(bytes.data(), bytes.size()); }

uint64_t hash64_combine(uint64_t seed, uint64_t value) { return util::Fingerprint(util::uint128_t(seed, value)); }

}  // namespace belfry
