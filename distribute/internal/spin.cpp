#include "distribute/internal/spin.h"

#include <thread>

namespace belfry::internal {

int spins_for(int threads) {
  static const int cores = static_cast<int>(std::thread::hardware_concurrency());
  return threads <= cores ? kSpins : 0;
}

}  // namespace belfry::internal
