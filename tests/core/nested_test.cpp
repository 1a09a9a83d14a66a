#include "core/nested.h"

#include <ATen/ATen.h>

#include "tests/support/check_fails.h"
#include "tests/testing.h"

using belfry::structure_of;
using belfry::TensorDict;
using belfry::tensors_in;
using belfry::with_tensors;

namespace user {

struct Step {
  at::Tensor loss;
  std::vector<at::Tensor> scores;
  int count = 0;
};
auto nest_fields(Step& step) { return std::tie(step.loss, step.scores, step.count); }

}  // namespace user

namespace {

at::Tensor number(double value) { return at::full({}, value, at::kDouble); }

std::vector<double> numbers_in(const std::vector<at::Tensor>& tensors) {
  std::vector<double> numbers;
  for (const at::Tensor& tensor : tensors) numbers.push_back(tensor.item<double>());
  return numbers;
}

// Every tensor plus 100, by taking the structure apart and putting it together.
template <class T>
T raised(const T& value) {
  std::vector<at::Tensor> tensors;
  for (const at::Tensor& tensor : tensors_in(value)) tensors.push_back(tensor + 100);
  return with_tensors(value, tensors);
}

}  // namespace

TEST_CASE("a lone tensor is a structure", "[nested]") {
  CHECK(structure_of(number(1)) == "*");
  CHECK(raised(number(1)).item<double>() == 101);
}

TEST_CASE("containers in containers are gone through in order", "[nested]") {
  using Inner = std::map<std::string, std::pair<at::Tensor, std::string>>;
  const std::tuple<std::vector<at::Tensor>, Inner, std::optional<at::Tensor>, std::array<at::Tensor, 1>> value{
      {number(1), number(2)}, {{"a", {number(3), "text"}}}, std::nullopt, {number(4)}};
  CHECK(structure_of(value) == "([*, *], {a: (*, -)}, none, [*])");
  CHECK(numbers_in(tensors_in(value)) == std::vector<double>{1, 2, 3, 4});
  const auto changed = raised(value);
  CHECK(numbers_in(tensors_in(changed)) == std::vector<double>{101, 102, 103, 104});
  CHECK(std::get<1>(changed).at("a").second == "text");
  CHECK_FALSE(std::get<2>(changed).has_value());
  CHECK(numbers_in(tensors_in(value)) == std::vector<double>{1, 2, 3, 4});
}

TEST_CASE("a TensorDict keeps its names and its strings", "[nested]") {
  const TensorDict dict{{"x", number(1)}, {"words", belfry::StringTensor({"word"})}, {"y", number(2)}};
  CHECK(structure_of(dict) == "{x: *, words: strings, y: *}");
  const TensorDict changed = raised(dict);
  CHECK(changed.names() == dict.names());
  CHECK(changed["y"].item<double>() == 102);
  CHECK(changed.strings("words")[0] == "word");
}

TEST_CASE("a struct of the user's takes part by naming its members", "[nested]") {
  const user::Step step{number(1), {number(2), number(3)}, 7};
  CHECK(structure_of(step) == "(*, [*, *], -)");
  const std::vector<user::Step> changed = raised(std::vector<user::Step>{step, step});
  CHECK(numbers_in(tensors_in(changed)) == std::vector<double>{101, 102, 103, 101, 102, 103});
  CHECK(changed[1].count == 7);
}

TEST_CASE("what has no tensors is carried along", "[nested]") {
  CHECK(structure_of(3) == "-");
  CHECK(tensors_in(std::string("x")).empty());
  CHECK(raised(3) == 3);
  CHECK(structure_of(std::vector<bool>{true}) == "-");
  CHECK(structure_of(std::vector<int>{}) == "[]");
}

TEST_CASE("another number of tensors than there are places is refused", "[nested]") {
  const std::vector<at::Tensor> two{number(1), number(2)};
  CHECK_FAILS(with_tensors(two, {number(1)}), belfry::ErrorKind::kInvalidArgument, "2 tensors was given 1");
}
