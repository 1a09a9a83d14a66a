#include "distribute/internal/packed_sum.h"

#include <ATen/ATen.h>

#include "distribute/internal/flat_layout.h"

namespace belfry::internal {
namespace {

using Tensors = std::vector<at::Tensor>;

// Positions of the tensors of each pack.
std::vector<std::vector<size_t>> packs_of(const Tensors& tensors, int64_t bytes_per_pack) {
  std::vector<std::vector<size_t>> packs;
  for (const std::vector<size_t>& group : groups_of_one_place(tensors)) {
    packs.emplace_back();
    int64_t bytes = 0;
    for (const size_t position : group) {
      const auto more = static_cast<int64_t>(tensors[position].nbytes());
      if (bytes_per_pack > 0 && bytes > 0 && more > 0 && bytes + more > bytes_per_pack) {
        packs.emplace_back();
        bytes = 0;
      }
      packs.back().push_back(position);
      bytes += more;
    }
  }
  return packs;
}

Tensors chosen(const Tensors& tensors, const std::vector<size_t>& positions) {
  Tensors some;
  for (const size_t position : positions) some.push_back(tensors[position].contiguous());
  return some;
}

}  // namespace

std::vector<Tensors> packed_sum(const std::vector<Tensors>& all, int64_t bytes_per_pack, const SumInPlace& sum) {
  std::vector<Tensors> results(all.size(), Tensors(all[0].size()));
  for (const std::vector<size_t>& pack : packs_of(all[0], bytes_per_pack)) {
    Tensors flats;
    std::vector<Tensors> places;
    for (const Tensors& replica : all) {
      const Tensors values = chosen(replica, pack);
      const FlatLayout layout(values);
      flats.push_back(at::zeros({layout.size()}, values[0].options()));
      places.push_back(layout.places_in(flats.back()));
      for (size_t i = 0; i < values.size(); ++i) places.back()[i].copy_(values[i]);
    }
    sum(flats);
    for (size_t replica = 0; replica < all.size(); ++replica) {
      for (size_t i = 0; i < pack.size(); ++i) results[replica][pack[i]] = places[replica][i];
    }
  }
  return results;
}

}  // namespace belfry::internal
