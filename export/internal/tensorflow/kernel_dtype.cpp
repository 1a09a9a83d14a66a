#include "export/internal/tensorflow/kernel_dtype.h"

#include <algorithm>
#include <array>

namespace belfry::internal {
namespace {

// From the operations and CPU kernels that TensorFlow 2.15 registers.
constexpr std::array<std::string_view, 4> kTakeBool{"ArgMax", "ArgMin", "Equal", "NotEqual"};
constexpr std::array<std::string_view, 4> kWithoutUnsigned{"Abs", "Neg", "Pow", "Sign"};
constexpr std::array<std::string_view, 4> kWithoutSmallIntegers{"BatchMatMulV2", "Einsum", "MatMul", "Range"};
constexpr std::array<std::string_view, 3> kWithoutHalf{"AvgPool3D", "MaxPool3D", "Range"};
constexpr std::array<std::string_view, 2> kWithoutDouble{"AvgPool3D", "MaxPool3D"};

template <size_t count>
bool is_in(const std::array<std::string_view, count>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

c10::ScalarType kernel_dtype(std::string_view operation, c10::ScalarType dtype) {
  switch (dtype) {
    case c10::ScalarType::Bool:
      return is_in(kTakeBool, operation) ? dtype : c10::ScalarType::Int;
    case c10::ScalarType::Byte:
      if (is_in(kWithoutUnsigned, operation)) return c10::ScalarType::Int;
      [[fallthrough]];
    case c10::ScalarType::Char:
    case c10::ScalarType::Short:
      return is_in(kWithoutSmallIntegers, operation) ? c10::ScalarType::Int : dtype;
    case c10::ScalarType::Half:
    case c10::ScalarType::BFloat16:
      return is_in(kWithoutHalf, operation) ? c10::ScalarType::Float : dtype;
    case c10::ScalarType::Double:
      return is_in(kWithoutDouble, operation) ? c10::ScalarType::Float : dtype;
    default:
      return dtype;
  }
}

}  // namespace belfry::internal
