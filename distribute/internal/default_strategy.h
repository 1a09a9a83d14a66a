// What is current where no strategy is.
#pragma once

namespace belfry {

class Strategy;

namespace internal {

// One replica, on the CPU: run calls its function on the caller's thread. It has no store and no threads, so that any
// number of threads may use it. Lives as long as the process.
Strategy& default_strategy();

}  // namespace internal
}  // namespace belfry
