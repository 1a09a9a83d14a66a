// The Error that a call ends with.
#pragma once

#include <functional>
#include <string>

#include "core/error.h"

namespace belfry::testing {

struct Failure {
  ErrorKind kind = ErrorKind::kInternal;
  std::string message = "nothing was thrown";
};

inline Failure failure(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return {error.kind(), error.what()};
  }
  return {};
}

}  // namespace belfry::testing
