// Catch's assertions are not made for several threads: this one is, and it evaluates before it locks, so that towers
// may wait for each other in the expression. Needs tests/testing.h before it.
#pragma once

#include <mutex>

#include "tests/testing.h"

namespace belfry::testing {

inline void tower_check(bool holds, const char* text, const char* file, int line) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (holds) {
    SUCCEED();
  } else {
    FAIL_CHECK(file << ":" << line << ": " << text);
  }
}

}  // namespace belfry::testing

#define TOWER_CHECK(...) belfry::testing::tower_check(static_cast<bool>(__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)
