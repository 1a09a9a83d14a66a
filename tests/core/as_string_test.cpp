#include "core/as_string.h"

#include <limits>

#include "tests/support/check_fails.h"
#include "tests/testing.h"

using namespace belfry;

TEST_CASE("integers are written in decimal digits", "[core]") {
  const at::Tensor numbers = torch::tensor({int64_t{0}, int64_t{-7}, int64_t{120}, std::numeric_limits<int64_t>::max(),
                                            std::numeric_limits<int64_t>::min(), int64_t{1}});
  const StringTensor texts = as_string(numbers.view({3, 2}));
  CHECK(texts == StringTensor({"0", "-7", "120", "9223372036854775807", "-9223372036854775808", "1"}).reshape({3, 2}));
  CHECK(as_string(torch::tensor({1, 2, 3, 4}, at::kByte).view({2, 2}).t()) ==
        StringTensor({"1", "3", "2", "4"}).reshape({2, 2}));
  CHECK(as_string(torch::tensor(5)) == StringTensor(std::vector<std::string>{"5"}, {}));
  CHECK(as_string(torch::empty({0, 2}, at::kLong)).sizes() == std::vector<int64_t>{0, 2});
}

TEST_CASE("what is no integer is not written as one", "[core]") {
  CHECK_FAILS(as_string(torch::tensor({1.5F})), ErrorKind::kInvalidArgument, "Float");
  CHECK_FAILS(as_string(torch::tensor({true})), ErrorKind::kInvalidArgument, "Bool");
  CHECK_FAILS(as_string(at::Tensor()), ErrorKind::kInvalidArgument, "undefined");
}
