#include "core/cross_hash.h"

#include "tests/support/check_fails.h"
#include "tests/testing.h"

using namespace belfry;

namespace {

at::Tensor longs(std::initializer_list<int64_t> numbers, at::IntArrayRef sizes) {
  return torch::tensor(std::vector<int64_t>(numbers), at::kLong).view(sizes);
}

}  // namespace

// tf.sparse.cross_hashed([['a', 'b'], ['c', 'd']], [[1, 2], [3, -4]]) of TensorFlow 2.15.
TEST_CASE("values of every column are crossed, the last column fastest", "[core][E104]") {
  const StringTensor letters = StringTensor({"a", "b", "c", "d"}).reshape({2, 2});
  const at::Tensor numbers = longs({1, 2, 3, -4}, {2, 2});
  const at::Tensor crossed = sparse_cross_hashed({letters, numbers}, 0);
  CHECK(at::equal(crossed, longs({2928842892298887678, 7560904255693475987, 5354134812324246176, 85918459618309357,
                                  4384133765619275694, 1081993872874431407, 8397980275917282607, 4645772519469004306},
                                 {2, 4})));

  SECTION("each combination as if it were alone") {
    const StringTensor b_and_c({"b", "c"});
    const at::Tensor two = longs({2, 3}, {2, 1});
    CHECK(at::equal(sparse_cross_hashed({b_and_c.reshape({2, 1}), two}, 0).view(-1),
                    at::stack({crossed[0][3], crossed[1][0]})));
  }
  SECTION("the order of the columns matters") {
    CHECK_FALSE(at::equal(sparse_cross_hashed({numbers, letters}, 0), crossed));
  }
  SECTION("as does the key") { CHECK_FALSE(at::equal(sparse_cross_hashed({letters, numbers}, 0, 1), crossed)); }
  SECTION("buckets are counted from 0") {
    const at::Tensor buckets = sparse_cross_hashed({letters, numbers}, 3);
    CHECK(buckets.min().item<int64_t>() >= 0);
    CHECK(buckets.max().item<int64_t>() < 3);
  }
  SECTION("a transposed tensor counts by its values") {
    const at::Tensor turned = longs({1, 3, 2, -4}, {2, 2}).t();
    CHECK(at::equal(sparse_cross_hashed({letters, turned}, 0), crossed));
  }
}

TEST_CASE("no values and no rows cross to none", "[core][E104]") {
  const at::Tensor one = longs({1, 2}, {2, 1});
  CHECK(sparse_cross_hashed({one, torch::empty({2, 0}, at::kLong)}, 5).sizes() == at::IntArrayRef{2, 0});
  CHECK(sparse_cross_hashed({torch::empty({0, 3}, at::kLong)}, 5).sizes() == at::IntArrayRef{0, 3});
}

TEST_CASE("columns that cannot be crossed are told by their place", "[core][E104]") {
  const at::Tensor good = longs({1, 2}, {2, 1});
  CHECK_FAILS(sparse_cross_hashed({}, 5), ErrorKind::kInvalidArgument, "no columns");
  CHECK_FAILS(sparse_cross_hashed({good}, -1), ErrorKind::kInvalidArgument, "-1 buckets");
  CHECK_FAILS(sparse_cross_hashed({good, good.view(-1)}, 5), ErrorKind::kInvalidArgument, "column 1 has 1 dimensions");
  CHECK_FAILS(sparse_cross_hashed({torch::tensor(1)}, 5), ErrorKind::kInvalidArgument, "column 0 has 0 dimensions");
  CHECK_FAILS(sparse_cross_hashed({good, StringTensor({"a"}).reshape({1, 1})}, 5), ErrorKind::kInvalidArgument,
              "column 1 has 1 rows, column 0 has 2");
  CHECK_FAILS(sparse_cross_hashed({good, good.to(at::kFloat)}, 5), ErrorKind::kInvalidArgument, "column 1 is of Float");
  const std::vector<Value> many(40, torch::zeros({1, 4}, at::kLong));
  CHECK_FAILS(sparse_cross_hashed(many, 5), ErrorKind::kInvalidArgument, "too many to count");
}
