#include "core/string_tensor.h"

#include "core/error.h"
#include "tests/testing.h"

using belfry::StringTensor;
using Catch::Contains;

TEST_CASE("strings have a shape, rows and row-major order", "[core]") {
  const StringTensor strings({"a", "b", "c", "d", "e", "f"}, {3, 2});
  CHECK(strings.dim() == 2);
  CHECK(strings.size(1) == 2);
  CHECK(strings.narrow(1, 2) == StringTensor({"c", "d", "e", "f"}, {2, 2}));
  CHECK(strings.narrow(1, 2).narrow(1, 1)[1] == "f");
  CHECK(strings.index_select({2, 0}) == StringTensor({"e", "f", "a", "b"}, {2, 2}));
  CHECK(belfry::cat({strings.narrow(0, 1), strings.narrow(1, 2)}) == strings);
}

TEST_CASE("a row range keeps its strings alive", "[core]") {
  StringTensor part;
  {
    const StringTensor whole{"x", "y"};
    part = whole.narrow(1, 1);
  }
  CHECK(part.to_vector() == std::vector<std::string>{"y"});
}

TEST_CASE("strings that do not fit are refused with the numbers", "[core]") {
  CHECK_THROWS_WITH(StringTensor({"a", "b", "c"}, {2, 2}), Contains("3 strings") && Contains("[2, 2]"));
  const StringTensor strings{"a", "b"};
  CHECK_THROWS_WITH(strings[2], Contains("element 2 of 2"));
  CHECK_THROWS_WITH(strings.narrow(1, 2), Contains("rows 1 to 3 of 2"));
  CHECK_THROWS_WITH(strings.size(1), Contains("dimension 1"));
  CHECK_THROWS_WITH(belfry::cat({strings, strings.reshape({2, 1})}), Contains("[2, 1]"));
}
