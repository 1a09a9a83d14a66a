#include "distribute/internal/flat_layout.h"

#include <ATen/ATen.h>

#include "tests/testing.h"

using belfry::internal::FlatLayout;
using belfry::internal::groups_of_one_place;

TEST_CASE("tensors of one dtype and device form a group, in order", "[flat_layout]") {
  const std::vector<at::Tensor> tensors{at::zeros({2}), at::zeros({2}, at::kDouble), at::zeros({3}),
                                        at::zeros({2}, at::TensorOptions().device(at::kMeta)), at::zeros({0})};
  CHECK(groups_of_one_place(tensors) == std::vector<std::vector<size_t>>{{0, 2, 4}, {1}, {3}});
  CHECK(groups_of_one_place({}).empty());
}

TEST_CASE("each place has its tensor's sizes and strides, and none overlaps another", "[flat_layout]") {
  const std::vector<at::Tensor> like{at::zeros({3, 2}).t(), at::zeros({}), at::zeros({0, 4}), at::zeros({65}),
                                     at::zeros({1, 2, 3, 4}).contiguous(at::MemoryFormat::ChannelsLast)};
  const FlatLayout layout(like);
  const at::Tensor flat = at::zeros({layout.size()});
  const std::vector<at::Tensor> places = layout.places_in(flat);
  REQUIRE(places.size() == like.size());
  for (size_t i = 0; i < places.size(); ++i) {
    CHECK(places[i].sizes() == like[i].sizes());
    CHECK(places[i].strides() == like[i].strides());
    CHECK(places[i].storage_offset() % 64 == 0);
    places[i].add_(1);  // twice where places overlapped
  }
  CHECK(flat.max().item<float>() == 1);
  CHECK(flat.sum().item<float>() == 6 + 1 + 0 + 65 + 24);
}
