#include "towers/internal/split_batch.h"

#include "tests/testing.h"
#include "tests/towers/abs_model.h"

namespace belfry::internal {
namespace {

using testing::doubles;

std::vector<double> list(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.to(at::kDouble).reshape({-1}).contiguous();
  return {flat.const_data_ptr<double>(), flat.const_data_ptr<double>() + flat.numel()};
}

using List = std::vector<double>;

TEST_CASE("SplitBatch: half of the rows to each of two towers, in order", "[towers][split][R8]") {
  const auto parts = split_batch(doubles({0, 1, 2, 3}), doubles({10, 11, 12, 13}), {.towers = 2, .must_divide = true});
  REQUIRE(parts.size() == 2);
  CHECK(list(parts[0].features.tensor()) == List{0, 1});
  CHECK(list(parts[1].features.tensor()) == List{2, 3});
  CHECK(list(parts[0].labels.tensor()) == List{10, 11});
  CHECK(list(parts[1].labels.tensor()) == List{12, 13});
  CHECK(parts[0].rows == 2);
  CHECK(parts[1].rows == 2);
}

TEST_CASE("SplitBatch: each their own, and one batch", "[towers][split][R8]") {
  const auto own = split_batch(doubles({0, 1, 2, 3}), doubles({10, 11, 12, 13}), {.towers = 4});
  REQUIRE(own.size() == 4);
  for (size_t i = 0; i < 4; ++i) {
    CHECK(list(own[i].features.tensor()) == List{static_cast<double>(i)});
    CHECK(list(own[i].labels.tensor()) == List{10 + static_cast<double>(i)});
  }
  const auto whole = split_batch(doubles({0, 1, 2, 3}), doubles({10, 11, 12, 13}), {.towers = 1});
  REQUIRE(whole.size() == 1);
  CHECK(list(whole[0].features.tensor()) == List{0, 1, 2, 3});
}

TEST_CASE("SplitBatch: half in dictionary, one batch in dictionary, labels in one too", "[towers][split][R8]") {
  const Features features{{"first", doubles({0, 1, 2, 3})}, {"second", doubles({4, 5, 6, 7})}};
  const Labels labels{{"first", doubles({10, 11, 12, 13})}, {"second", doubles({20, 21, 22, 23})}};
  const auto halves = split_batch(features, labels, {.towers = 2});
  REQUIRE(halves.size() == 2);
  CHECK(list(halves[0].features["second"]) == List{4, 5});
  CHECK(list(halves[1].features["first"]) == List{2, 3});
  CHECK(list(halves[1].labels["first"]) == List{12, 13});
  CHECK(list(halves[0].labels["second"]) == List{20, 21});
  const auto whole = split_batch(features, labels, {.towers = 1});
  CHECK(list(whole[0].features["second"]) == List{4, 5, 6, 7});
}

TEST_CASE("split_batch makes the first rows mod N parts one row longer", "[towers][split]") {
  const auto parts = split_batch(at::arange(7), Labels(), {.towers = 4});
  REQUIRE(parts.size() == 4);
  CHECK(parts[0].rows == 2);
  CHECK(parts[2].rows == 2);
  CHECK(parts[3].rows == 1);
  CHECK(list(parts[3].features.tensor()) == List{6});
  CHECK(parts[0].labels.empty());
}

TEST_CASE("split_batch leaves towers idle when there are too few rows", "[towers][split]") {
  CHECK(split_batch(at::arange(2), Labels(), {.towers = 5}).size() == 2);
  CHECK(split_batch(at::arange(7), Labels(), {.towers = 4, .min_rows_per_tower = 3}).size() == 2);
  CHECK(split_batch(at::arange(2), Labels(), {.towers = 4, .min_rows_per_tower = 3}).size() == 1);
}

TEST_CASE("split_batch gives a batch without rows to tower 0", "[towers][split]") {
  for (const bool must_divide : {false, true}) {
    const auto parts = split_batch(at::empty({0, 3}), at::empty({0}), {.towers = 3, .must_divide = must_divide});
    REQUIRE(parts.size() == 1);
    CHECK(parts[0].rows == 0);
    CHECK(parts[0].features.tensor().sizes() == at::IntArrayRef{0, 3});
  }
}

TEST_CASE("split_batch cuts string features like tensors", "[towers][split]") {
  const Features features{{"words", StringTensor({"a", "b", "c"})}, {"x", at::arange(3)}};
  const auto parts = split_batch(features, Labels(), {.towers = 2});
  CHECK(parts[0].features.strings("words") == StringTensor({"a", "b"}));
  CHECK(parts[1].features.strings("words") == StringTensor({"c"}));
}

at::Tensor sparse(std::vector<int64_t> rows, std::vector<int64_t> columns, std::vector<double> values,
                  at::IntArrayRef shape) {
  const at::Tensor indices = at::stack({at::tensor(rows, at::kLong), at::tensor(columns, at::kLong)});
  return at::sparse_coo_tensor(indices, at::tensor(values, at::kDouble), shape, at::kDouble);
}

TEST_CASE("SplitBatch: sparse unevenly, labels likewise, rows begin at 0 again", "[towers][split][R8]") {
  const Features features{{"s", sparse({0, 1, 2}, {0, 2, 2}, {1, 2, 3}, {3, 4})}};
  const auto parts = split_batch(features, doubles({1, 2, 3}), {.towers = 2});
  REQUIRE(parts.size() == 2);
  const at::Tensor first = parts[0].features["s"].coalesce();
  CHECK(first.sizes() == at::IntArrayRef{2, 4});
  CHECK(list(first.indices()) == List{0, 1, 0, 2});
  CHECK(list(first.values()) == List{1, 2});
  const at::Tensor second = parts[1].features["s"].coalesce();
  CHECK(second.sizes() == at::IntArrayRef{1, 4});
  CHECK(list(second.indices()) == List{0, 2});
  CHECK(list(second.values()) == List{3});
  CHECK(list(parts[1].labels.tensor()) == List{3});
}

TEST_CASE("SplitBatch: sparse unevenly, repeated row: a tower gets a part without values", "[towers][split][R8]") {
  const Features features{{"s", sparse({0, 1, 1}, {0, 0, 1}, {1, 2, 3}, {3, 4})}};
  const auto parts = split_batch(features, Labels(), {.towers = 2});
  CHECK(list(parts[0].features["s"].coalesce().values()) == List{1, 2, 3});
  CHECK(parts[1].features["s"]._nnz() == 0);
  CHECK(parts[1].features["s"].sizes() == at::IntArrayRef{1, 4});
}

TEST_CASE("split_batch refuses a sparse feature with other rows than the labels", "[towers][split]") {
  const Features features{{"s", sparse({0, 1, 2}, {0, 2, 2}, {1, 2, 3}, {3, 4})}};
  CHECK_FAILS(split_batch(features, testing::column({1, 2}), {.towers = 2}), ErrorKind::kInvalidArgument,
              "feature 's' has 3 rows and label has 2");
}

TEST_CASE("SplitBatch: feature and label dictionaries of other rows are an error here, which names both",
          "[towers][split]") {
  const Features features{{"a", at::arange(4)}, {"b", at::arange(6)}};
  CHECK_FAILS(split_batch(features, Labels(), {.towers = 2}), ErrorKind::kInvalidArgument,
              "feature 'a' has 4 rows and feature 'b' has 6");
  CHECK_FAILS(split_batch(at::arange(4), Labels{{"y", at::arange(2)}}, {.towers = 2}), ErrorKind::kInvalidArgument,
              "feature has 4 rows and label 'y' has 2");
}

TEST_CASE("split_batch refuses rows that do not divide, where they must, with both numbers", "[towers][split][R8]") {
  for (const auto& [rows, towers] : {std::pair<int64_t, int>{3, 2}, {5, 3}, {1, 2}}) {
    const auto failed = testing::failure_of([&, r = rows, t = towers] {
      split_batch(at::arange(r), Labels(), {t, true});
    });
    REQUIRE(failed.has_value());
    CHECK(failed->kind == ErrorKind::kInvalidArgument);
    CHECK_THAT(failed->message, Catch::Contains("batch size " + std::to_string(rows)));
    CHECK_THAT(failed->message, Catch::Contains("number of devices, which is " + std::to_string(towers)));
  }
}

TEST_CASE("split_batch refuses scalars and batches without an entry", "[towers][split]") {
  CHECK_FAILS(split_batch(Features{{"t", at::scalar_tensor(1)}}, Labels(), {.towers = 2}), ErrorKind::kInvalidArgument,
              "feature 't' is a scalar");
  CHECK_FAILS(split_batch(Features(), Labels(), {.towers = 2}), ErrorKind::kInvalidArgument, "no feature or label");
}

TEST_CASE("split_batch gives shared entries whole to every tower, whatever their shape", "[towers][split]") {
  const Features features{{"graph", at::eye(9)}, {"x", at::arange(4)}, {"scale", at::scalar_tensor(3)}};
  const auto parts = split_batch(features, Labels(), {.towers = 2, .shared_entries = {"graph", "scale"}});
  REQUIRE(parts.size() == 2);
  CHECK(parts[1].features["graph"].is_same(features["graph"]));
  CHECK(parts[1].features["scale"].item<double>() == 3);
  CHECK(list(parts[1].features["x"]) == List{2, 3});
}

TEST_CASE("split_batch cuts nested dictionaries, and shares one that is named", "[towers][split][R8]") {
  Features features(doubles({0, 1, 2}));
  features.set_nested("user", {{"age", doubles({3, 4, 5})}, {"name", StringTensor{"a", "b", "c"}}});
  features.set_nested("users", {{"table", doubles({9, 9})}});
  const auto parts = split_batch(features, {}, {.towers = 2, .shared_entries = {"users"}});
  REQUIRE(parts.size() == 2);
  CHECK(list(parts[0].features.nested("user")["age"]) == List{3, 4});
  CHECK(parts[1].features.nested("user").strings("name")[0] == "c");
  CHECK(list(parts[1].features.nested("users")["table"]) == List{9, 9});
}

TEST_CASE("split_batch refuses a shared entry that nothing is called", "[towers][split]") {
  const Features features{{"x", doubles({0, 1})}, {"table", doubles({9})}};
  CHECK_FAILS(split_batch(features, doubles({0, 1}), {.towers = 2, .shared_entries = {"table", "tabel"}}),
              ErrorKind::kInvalidArgument, "'tabel', and the batch has no such entry; it has 'x', 'table'");
  const Features nested{{"x", doubles({0, 1})}};  // a batch to predict lacks the labels' entries
  CHECK(split_batch(nested, {}, {.towers = 2, .shared_entries = {"weights_of_labels"}}).size() == 2);
}

TEST_CASE("split_batch shares the memory of dense entries", "[towers][split]") {
  const at::Tensor x = at::arange(6);
  const auto parts = split_batch(x, Labels(), {.towers = 3});
  CHECK(parts[2].features.tensor().is_alias_of(x));
}

}  // namespace
}  // namespace belfry::internal
