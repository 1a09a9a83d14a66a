#include "core/hash64.h"

#include "tests/testing.h"

// Values of TensorFlow's Fingerprint64 (tests/reference/canned.json, feature_columns.fingerprint64).
TEST_CASE("hash64 is Fingerprint64", "[core]") {
  CHECK(belfry::hash64("") == 11160318154034397263ULL);
  CHECK(belfry::hash64("a") == 12917804110809363939ULL);
  CHECK(belfry::hash64("hello world") == 6381520714923946011ULL);
}

TEST_CASE("combining hashes depends on the order", "[core]") {
  CHECK(belfry::hash64_combine(1, 2) != belfry::hash64_combine(2, 1));
  CHECK(belfry::hash64_combine(1, 2) == belfry::hash64_combine(1, 2));
}
