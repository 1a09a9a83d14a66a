// Waiting that burns a bounded time before it sleeps.
#pragma once

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace belfry::internal {

inline void cpu_relax() {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// A std::barrier sleeps at once, which halves the speed of two towers at 3,000 steps a second. This many pauses cover
// the usual difference between two towers and cost a millisecond at most.
inline constexpr int kSpins = 20000;

// Pauses to spend before sleeping when `threads` threads run together: none when they outnumber the cores.
int spins_for(int threads);

}  // namespace belfry::internal
