#include "export_cases.h"

namespace belfry::testing {
namespace nn = torch::nn;

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
  };
}

}  // namespace belfry::testing
