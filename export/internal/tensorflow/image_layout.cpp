#include "export/internal/tensorflow/image_layout.h"

namespace belfry::internal {

TfTensor channels_last(GraphDefBuilder& out, const TfTensor& x, int64_t rank) {
  std::vector<int64_t> permutation{0};
  for (int64_t axis = 2; axis < rank; ++axis) permutation.push_back(axis);
  permutation.push_back(1);
  return out.transpose(x, permutation);
}

TfTensor channels_first(GraphDefBuilder& out, const TfTensor& x, int64_t rank) {
  std::vector<int64_t> permutation{0, rank - 1};
  for (int64_t axis = 1; axis < rank - 1; ++axis) permutation.push_back(axis);
  return out.transpose(x, permutation);
}

std::vector<int64_t> framed(int64_t batch, const std::vector<int64_t>& middle, int64_t channels) {
  std::vector<int64_t> all{batch};
  all.insert(all.end(), middle.begin(), middle.end());
  all.push_back(channels);
  return all;
}

}  // namespace belfry::internal
