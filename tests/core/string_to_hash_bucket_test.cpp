#include "core/string_to_hash_bucket.h"

#include <limits>

#include "core/hash64.h"
#include "tests/support/check_fails.h"
#include "tests/testing.h"

using namespace belfry;

// More numbers of TensorFlow: tests/data/strings_reference_test.cpp.
TEST_CASE("strings fall into the buckets of their hash", "[core][E103]") {
  const StringTensor strings = StringTensor({"", "a", "hello world", "a"}).reshape({2, 2});
  const at::Tensor buckets = string_to_hash_bucket_fast(strings, 10);
  CHECK(at::equal(buckets, torch::tensor({{3, 9}, {1, 9}}, at::kLong)));
  CHECK(string_to_hash_bucket_fast(strings, 1).count_nonzero().item<int64_t>() == 0);
  const int64_t most = std::numeric_limits<int64_t>::max();
  CHECK(string_to_hash_bucket_fast({"", "a"}, most)[0].item<int64_t>() == static_cast<int64_t>(hash64("") % most));
  CHECK(string_to_hash_bucket_fast(StringTensor(), 3).sizes() == at::IntArrayRef{0});
}

TEST_CASE("there is at least one bucket", "[core][E103]") {
  CHECK_FAILS(string_to_hash_bucket_fast({"a"}, 0), ErrorKind::kInvalidArgument, "0 buckets");
  CHECK_FAILS(string_to_hash_bucket_fast({"a"}, -4), ErrorKind::kInvalidArgument, "-4 buckets");
}
