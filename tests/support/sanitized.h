// Fewer repetitions where every one costs ten times as much.
#pragma once

namespace belfry::testing {

// Whether this program is built with ThreadSanitizer or AddressSanitizer (GCC's macros, then Clang's question).
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
inline constexpr bool kSanitized = __has_feature(thread_sanitizer) || __has_feature(address_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif

// A tenth of `times` under a sanitizer: it reports a kind of fault at its first occurrence.
constexpr int repetitions(int times) { return kSanitized ? (times + 9) / 10 : times; }

}  // namespace belfry::testing
