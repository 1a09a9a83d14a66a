// Tensors side by side in one block of memory.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace belfry::internal {

// Positions of tensors that have one dtype and lie on one device, in the order of their first ones.
std::vector<std::vector<size_t>> groups_of_one_place(const std::vector<at::Tensor>& tensors);

// Where tensors of these shapes and strides lie in a flat one of size() elements. Each begins at a multiple of 64
// elements, which keeps vector loads aligned for every dtype.
class FlatLayout {
 public:
  explicit FlatLayout(const std::vector<at::Tensor>& like);

  int64_t size() const { return size_; }
  // Views of `flat`, each in the sizes and strides of its tensor.
  std::vector<at::Tensor> places_in(const at::Tensor& flat) const;

 private:
  struct Place {
    std::vector<int64_t> sizes;
    std::vector<int64_t> strides;
    int64_t offset;
  };

  std::vector<Place> places_;
  int64_t size_ = 0;
};

}  // namespace belfry::internal
