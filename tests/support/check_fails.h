// The belfry::Error that a call ends with.
#pragma once

#include <optional>
#include <string>

#include "core/error.h"

namespace belfry::testing {

struct Failure {
  ErrorKind kind = ErrorKind::kInternal;
  std::string message = "nothing was thrown";
};

// None when the call succeeds.
template <class Call>
std::optional<Failure> failure_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return Failure{error.kind(), error.what()};
  }
  return std::nullopt;
}

// The same for a call that is expected to fail: a success is a failure of a kind and message that no test wants.
template <class Call>
Failure failure(Call&& call) {
  return failure_of(call).value_or(Failure{});
}

// Asserts the error's kind and a part of its message.
#define CHECK_FAILS(call, error_kind, part)                                   \
  do {                                                                        \
    const auto failed = ::belfry::testing::failure_of([&] { (void)(call); }); \
    REQUIRE(failed.has_value());                                              \
    CHECK(failed->kind == (error_kind));                                      \
    CHECK_THAT(failed->message, Catch::Contains(part));                       \
  } while (false)

}  // namespace belfry::testing
