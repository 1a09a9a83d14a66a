#include "export/serving_input_receiver.h"

#include "tests/support/check_fails.h"
#include "tests/testing.h"

using namespace belfry;

TEST_CASE("A raw receiver serves each feature as an input of its name, in order", "[export][E65]") {
  const auto receiver_fn = build_raw_serving_input_receiver_fn(
      {{"x", {.dtype = at::kFloat, .shape = {-1, 4}}}, {"ids", {.dtype = at::kLong, .shape = {-1}, .high = 9}}});
  const auto inputs = receiver_fn().inputs();
  REQUIRE(inputs.size() == 2);
  CHECK(inputs[0].name == "x");
  CHECK(inputs[0].feature == "x");
  CHECK(inputs[0].spec.shape == std::vector<int64_t>{-1, 4});
  CHECK(inputs[1].name == "ids");
  CHECK(inputs[1].spec.dtype == at::kLong);
  CHECK(inputs[1].spec.high == 9);
}

TEST_CASE("A lone tensor is the input 'input' and the feature 'feature'", "[export][E62]") {
  const auto inputs = build_raw_serving_input_receiver_fn(TensorSpec{.shape = {-1, 2}})().inputs();
  REQUIRE(inputs.size() == 1);
  CHECK(inputs[0].name == "input");
  CHECK(inputs[0].feature == "feature");
}

TEST_CASE("Inputs that cannot be served are refused by name", "[export][E65]") {
  const auto make = [](const std::string& name, TensorSpec spec) {
    return build_raw_serving_input_receiver_fn({{name, std::move(spec)}});
  };
  const ErrorKind invalid = ErrorKind::kInvalidArgument;
  CHECK_FAILS(make("", {.shape = {-1}}), invalid, "a name is empty");
  CHECK_FAILS(make("x", {.dtype = at::ScalarType::ComplexFloat}), invalid, "'x': ComplexFloat is not a dtype");
  CHECK_FAILS(make("x", {.dtype = at::kQInt8}), invalid, "QInt8");
  CHECK_FAILS(make("x", {.shape = {}}), invalid, "no batch dimension");
  CHECK_FAILS(make("x", {.shape = {8, 4}}), invalid, "dimension 0 of shape [8, 4]");
  CHECK_FAILS(make("x", {.shape = {-1, -1}}), invalid, "[-1, -1]");
  CHECK_FAILS(make("x", {.shape = {-1, 0}}), invalid, "positive");
  CHECK_FAILS(make("x", {.dtype = at::kLong, .low = 3, .high = 3}), invalid, "no value in [3, 3)");
  CHECK_FAILS(build_raw_serving_input_receiver_fn(TensorSpec{.shape = {2}}), invalid, "'input'");
  CHECK_FAILS(ServingInputReceiver(std::vector<std::pair<std::string, TensorSpec>>{}), invalid, "none");
  CHECK_FAILS(build_raw_serving_input_receiver_fn({{"x", {}}, {"x", {}}}), ErrorKind::kAlreadyExists,
              "'x' comes twice");
}
