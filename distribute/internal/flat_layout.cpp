#include "distribute/internal/flat_layout.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace belfry::internal {
namespace {

constexpr int64_t kAlignment = 64;

int64_t rounded_up(int64_t elements) { return (elements + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

std::vector<std::vector<size_t>> groups_of_one_place(const std::vector<at::Tensor>& tensors) {
  std::vector<std::vector<size_t>> groups;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const std::vector<size_t>& known) {
      const at::Tensor& first = tensors[known[0]];
      return first.scalar_type() == tensors[i].scalar_type() && first.device() == tensors[i].device();
    });
    group == groups.end() ? groups.push_back({i}) : group->push_back(i);
  }
  return groups;
}

FlatLayout::FlatLayout(const std::vector<at::Tensor>& like) {
  for (const at::Tensor& tensor : like) {
    places_.push_back({tensor.sizes().vec(), tensor.strides().vec(), size_});
    size_ += rounded_up(tensor.numel());
  }
}

std::vector<at::Tensor> FlatLayout::places_in(const at::Tensor& flat) const {
  std::vector<at::Tensor> places;
  places.reserve(places_.size());
  for (const Place& place : places_) places.push_back(flat.as_strided(place.sizes, place.strides, place.offset));
  return places;
}

}  // namespace belfry::internal
