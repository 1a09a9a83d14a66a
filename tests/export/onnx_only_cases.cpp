#include "export_cases.h"

namespace belfry::testing {
namespace {

namespace nn = torch::nn;
using at::Tensor;

// Each row of the batch is a step.
template <class Layer>
ExportCase over_rows(const std::string& name, Layer given) {
  Layer layer = randomized(std::move(given));
  const auto function = [layer](const Tensor& x) mutable { return std::get<0>(layer->forward(x)); };
  return {name, request_of(function, {.shape = {-1, 4, 6}}, named_tensors("net", *layer))};
}

}  // namespace

ExportCases onnx_only_cases() {
  return {
      of_module("max_pool2d_dilated", nn::MaxPool2d(nn::MaxPool2dOptions(2).stride(1).dilation(2)),
                floats({-1, 3, 9, 10})),
      of_module("conv3d_dilated_groups", nn::Conv3d(nn::Conv3dOptions(4, 6, 2).dilation(2).groups(2)),
                floats({-1, 4, 5, 5, 5})),
      of_module("conv_transpose2d_dilated", nn::ConvTranspose2d(nn::ConvTranspose2dOptions(3, 4, 2).dilation(2)),
                floats({-1, 3, 4, 5})),
      of_module("conv_transpose3d", nn::ConvTranspose3d(nn::ConvTranspose3dOptions(2, 3, 2).stride(2)),
                floats({-1, 2, 3, 3, 3})),
      over_rows("gru_over_rows", nn::GRU(nn::GRUOptions(6, 5).bidirectional(true))),
      over_rows("rnn_over_rows", nn::RNN(nn::RNNOptions(6, 5))),
  };
}

}  // namespace belfry::testing
