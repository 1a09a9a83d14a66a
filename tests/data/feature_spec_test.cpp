#include "data/feature_spec.h"

#include <limits>

#include "tests/support/check_fails.h"
#include "tests/testing.h"

using namespace belfry;

TEST_CASE("feature specs of every kind are right", "[data]") {
  CHECK_NOTHROW(check(FeatureSpecs{
      {"x", FixedLenFeature{}},
      {"y", FixedLenFeature{.dtype = at::kLong, .shape = {2, 3}, .default_value = torch::zeros({6}, at::kLong)}},
      {"z", FixedLenFeature{.dtype = kString, .shape = {}, .default_value = StringTensor({"none"})}},
      {"u", VarLenFeature{.dtype = kString, .length = 4, .padding = {}}},
      {"v", VarLenFeature{.dtype = at::kFloat, .length = 1, .padding = torch::tensor(-1.0F)}}}));
}

TEST_CASE("feature specs that cannot be right are told by name", "[data]") {
  const auto check_refused = [](const FeatureSpec& spec, const char* message) {
    CHECK_FAILS(check(FeatureSpecs{{"ok", FixedLenFeature{}}, {"age", spec}}), ErrorKind::kInvalidArgument,
                std::string("'age'") + message);
  };
  check_refused(FixedLenFeature{.dtype = at::kDouble}, ": the dtype Double");
  check_refused(VarLenFeature{.dtype = at::kInt, .length = 2}, ": the dtype Int");
  check_refused(FixedLenFeature{.shape = {2, 0}}, ": a size of 0");
  check_refused(FixedLenFeature{.shape = {-1}}, ": a size of -1");
  check_refused(FixedLenFeature{.shape = {int64_t{1} << 40, int64_t{1} << 40}}, ": the shape has more values");
  check_refused(FixedLenFeature{.shape = {2}, .default_value = torch::ones({1})},
                ": the default value has 1 values; 2");
  check_refused(FixedLenFeature{.default_value = torch::ones({1}, at::kLong)}, ": the default value is of Long; Float");
  check_refused(FixedLenFeature{.default_value = StringTensor({"1"})}, ": the default value is of strings; Float");
  check_refused(FixedLenFeature{.default_value = at::Tensor()}, ": the default value is an undefined tensor");
  check_refused(FixedLenFeature{.dtype = kString, .default_value = at::Tensor()},
                ": the default value is an undefined");
  check_refused(VarLenFeature{.dtype = at::kLong, .length = 0}, ": the length 0");
  check_refused(VarLenFeature{.dtype = at::kLong, .length = 2, .padding = torch::ones({2}, at::kLong)},
                ": the padding has 2 values; 1");
  check_refused(VarLenFeature{.dtype = kString, .length = 2, .padding = torch::tensor(0.0F)},
                ": the padding is of Float; strings");
}

TEST_CASE("feature specs name each feature once, and at least one", "[data]") {
  CHECK_FAILS(check(FeatureSpecs{}), ErrorKind::kInvalidArgument, "there are none");
  CHECK_FAILS(check(FeatureSpecs{{"x", FixedLenFeature{}}, {"x", VarLenFeature{at::kLong, 1}}}),
              ErrorKind::kInvalidArgument, "'x' comes twice");
}
