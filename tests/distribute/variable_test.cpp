#include "distribute/variable.h"

#include <ATen/ATen.h>

#include "core/error.h"
#include "distribute/variable_store.h"
#include "tests/testing.h"

using belfry::Variable;
using belfry::VariableKind;
using Catch::Contains;

TEST_CASE("names are those that TensorFlow takes", "[variable]") {
  for (const char* name : {"w", "net/fc1/weight", ".hidden", "0/a", "a-b_c.d>e\\f", "a//b", "A/"}) {
    CHECK_NOTHROW(belfry::check_variable_name(name));
  }
  for (const char* name : {"", "/w", "_w", "-w", "a b", "w:0", "a\tb",
                           "gr\xc3\xb6\xc3\x9f"
                           "e",
                           "a$"}) {
    CHECK_THROWS_WITH(belfry::check_variable_name(name), Contains("'" + std::string(name) + "'"));
  }
}

TEST_CASE("assigning copies, counts a version, and names both shapes or dtypes", "[variable]") {
  Variable variable("w", at::zeros({2, 3}), VariableKind::kParameter);
  const void* memory = variable.value().data_ptr();
  const uint64_t version = variable.version();
  variable.assign(at::ones({2, 3}));
  CHECK(variable.version() == version + 1);
  CHECK(variable.value().data_ptr() == memory);
  CHECK_THROWS_WITH(variable.assign(at::ones({3, 2})), Contains("'w'") && Contains("[2, 3]") && Contains("[3, 2]"));
  CHECK_THROWS_WITH(variable.assign(at::ones({2, 3}, at::kDouble)), Contains("Float") && Contains("Double"));
  CHECK(variable.version() == version + 1);
  CHECK(variable.value().sum().item<float>() == 6);
}

TEST_CASE("a gradient is brought to the variable's layout, and left alone when it has it", "[variable]") {
  const Variable variable("w", at::zeros({4, 3, 2, 2}).contiguous(at::MemoryFormat::ChannelsLast),
                          VariableKind::kParameter);
  const at::Tensor gradient = at::randn({4, 3, 2, 2});
  const at::Tensor brought = variable.in_layout(gradient);
  CHECK(brought.strides() == variable.value().strides());
  CHECK(at::equal(brought, gradient));
  CHECK(variable.in_layout(brought).is_same(brought));
  CHECK(variable.in_layout(gradient.to(at::kDouble)).scalar_type() == at::kFloat);
  const at::Tensor expanded = at::ones({1}).expand({4, 3, 2, 2});
  CHECK(variable.in_layout(expanded).strides() == variable.value().strides());
}
