#include "export/internal/onnx/kernel_dtype.h"

#include <algorithm>
#include <array>

namespace belfry::internal::onnx {
namespace {

// Found by running each operation on each dtype in ONNX Runtime 1.32; LSTM and GRU take double and then fail.
constexpr std::array<std::string_view, 10> kWithoutDouble{"Atan", "AveragePool", "Conv", "ConvTranspose", "Erf",
                                                          "GRU",  "LSTM",        "RNN",  "Resize",        "Softplus"};

}  // namespace

c10::ScalarType kernel_dtype(std::string_view operation, c10::ScalarType dtype) {
  switch (dtype) {
    case c10::ScalarType::Half:  // the CPU has few kernels of either
    case c10::ScalarType::BFloat16:
      return c10::ScalarType::Float;
    case c10::ScalarType::Bool:
    case c10::ScalarType::Byte:
    case c10::ScalarType::Char:
    case c10::ScalarType::Short:
    case c10::ScalarType::Int:
      return operation == "Trilu" ? c10::ScalarType::Long : c10::ScalarType::Int;
    case c10::ScalarType::Double: {
      const bool lacks = std::find(kWithoutDouble.begin(), kWithoutDouble.end(), operation) != kWithoutDouble.end();
      return lacks ? c10::ScalarType::Float : dtype;
    }
    default:
      return dtype;
  }
}

}  // namespace belfry::internal::onnx
