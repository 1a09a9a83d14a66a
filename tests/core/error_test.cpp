#include "core/error.h"

#include "tests/testing.h"

using belfry::Error;
using belfry::ErrorKind;

TEST_CASE("an error has its kind and a message made of its parts", "[core]") {
  try {
    belfry::fail(ErrorKind::kOutOfRange, "label ", 7, " in row ", 3L, ": classes are 0 to ", 2);
    FAIL("did not throw");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kOutOfRange);
    CHECK(std::string(error.what()) == "label 7 in row 3: classes are 0 to 2");
    CHECK(std::string(belfry::to_string(error.kind())) == "out of range");
  }
}

TEST_CASE("require is silent when its condition holds", "[core]") {
  CHECK_NOTHROW(belfry::require(true, "never"));
  CHECK_THROWS_AS(belfry::require(false, "steps must be positive, got ", -1), Error);
}
