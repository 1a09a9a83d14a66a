#include "checkpoint/internal/slice_key.h"

#include <random>

#include "tests/testing.h"

using namespace belfry;

namespace {

proto::TensorSliceProto slice(int64_t start, int64_t length) {
  proto::TensorSliceProto slice;
  proto::TensorSliceProto::Extent* extent = slice.add_extent();
  extent->set_start(start);
  extent->set_length(length);
  return slice;
}

}  // namespace

TEST_CASE("the key of a part is its name and extents in an ordered code", "[checkpoint]") {
  const std::string expected(
      "\x00"
      "ab"
      "\x00\x01"
      "\x01\x01"
      "\x80"
      "\xc0\x40",
      10);
  CHECK(slice_key("ab", slice(0, 64)) == expected);
  proto::TensorSliceProto whole;
  whole.add_extent();
  CHECK(slice_key("a", whole) == std::string("\x00"
                                             "a"
                                             "\x00\x01"
                                             "\x01\x01"
                                             "\x80\x7f",
                                             8));
}

TEST_CASE("keys sort as the numbers in them", "[checkpoint]") {
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    const auto a = static_cast<int64_t>(random() >> (1 + random() % 63));
    const auto b = static_cast<int64_t>(random() >> (1 + random() % 63));
    const bool before = slice_key("n", slice(a, 1)) < slice_key("n", slice(b, 1));
    CHECK(before == (a < b));
  }
}

TEST_CASE("a key is told apart from a name, and gives it back", "[checkpoint]") {
  for (const std::string& name : {std::string("net/w"), std::string("\xff\x00\x01z", 4), std::string("a\xff")}) {
    CHECK(is_slice_key(slice_key(name, slice(3, 4))));
    CHECK(readable_key(slice_key(name, slice(3, 4))) == name);
    CHECK(readable_key(name) == name);
  }
  CHECK(readable_key(std::string("\x00", 1)) == "");
}
