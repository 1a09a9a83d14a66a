// For tests that need GPUs. tests/CMakeLists.txt tells ctest what the line means.
#pragma once

#include <torch/cuda.h>

#include <iostream>

#include "tests/testing.h"

// Ends the test, shown as skipped, where LibTorch sees fewer.
#define NEEDS_GPUS(count)                                                    \
  if (static_cast<int>(torch::cuda::device_count()) < (count)) {             \
    std::cout << "SKIPPED: " << (count) << " GPU(s) wanted, LibTorch sees "  \
              << static_cast<int>(torch::cuda::device_count()) << std::endl; \
    return;                                                                  \
  }                                                                          \
  static_assert(true)
