#include "distribute/internal/packed_sum.h"

#include <ATen/ATen.h>

#include "tests/testing.h"

using belfry::internal::packed_sum;
using Tensors = std::vector<at::Tensor>;

namespace {

// As NCCL's, and how many numbers each call had.
struct Adder {
  std::vector<int64_t> sizes = {};

  void operator()(Tensors& parts) {
    sizes.push_back(parts[0].numel());
    at::Tensor total = at::zeros_like(parts[0]);
    for (const at::Tensor& part : parts) total.add_(part);
    for (at::Tensor& part : parts) part.copy_(total);
  }
};

std::vector<Tensors> replicas(int count) {
  std::vector<Tensors> all;
  for (int i = 1; i <= count; ++i) {
    all.push_back({at::arange(6, at::kFloat).view({2, 3}) * i, at::full({}, i, at::kDouble), at::ones({0, 4}),
                   at::arange(6, at::kFloat).view({3, 2}).t() + i});
  }
  return all;
}

void check_sums(int64_t bytes_per_pack, const std::vector<int64_t>& calls) {
  Adder adder;
  const auto all = replicas(3);
  const std::vector<Tensors> sums = packed_sum(all, bytes_per_pack, std::ref(adder));
  REQUIRE(sums.size() == 3);
  for (const Tensors& mine : sums) {
    for (size_t place = 0; place < 4; ++place) {
      const at::Tensor expected = all[0][place] + all[1][place] + all[2][place];
      CHECK(mine[place].sizes() == expected.sizes());
      CHECK(mine[place].scalar_type() == expected.scalar_type());
      CHECK(mine[place].equal(expected));
    }
  }
  CHECK(sums[0][0].data_ptr() != sums[1][0].data_ptr());
  CHECK(adder.sizes == calls);
}

}  // namespace

TEST_CASE("sums of many tensors are one for each dtype", "[strategy][X4][X7]") { check_sums(0, {128, 64}); }

TEST_CASE("packs hold as many bytes as they are allowed to", "[strategy][X7]") {
  // Two tensors of 24 bytes; each begins at a multiple of 64 numbers.
  check_sums(48, {128, 64});
  check_sums(30, {64, 64, 64});
  check_sums(1, {64, 64, 64});
}
