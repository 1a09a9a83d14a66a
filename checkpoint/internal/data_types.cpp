#include "checkpoint/internal/data_types.h"

#include <array>
#include <utility>

namespace belfry {
namespace {

using at::ScalarType;

constexpr std::array<std::pair<ScalarType, proto::DataType>, 17> kTypes{{
    {ScalarType::Float, proto::DT_FLOAT},
    {ScalarType::Double, proto::DT_DOUBLE},
    {ScalarType::Half, proto::DT_HALF},
    {ScalarType::BFloat16, proto::DT_BFLOAT16},
    {ScalarType::Bool, proto::DT_BOOL},
    {ScalarType::Char, proto::DT_INT8},
    {ScalarType::Short, proto::DT_INT16},
    {ScalarType::Int, proto::DT_INT32},
    {ScalarType::Long, proto::DT_INT64},
    {ScalarType::Byte, proto::DT_UINT8},
    {ScalarType::UInt16, proto::DT_UINT16},
    {ScalarType::UInt32, proto::DT_UINT32},
    {ScalarType::UInt64, proto::DT_UINT64},
    {ScalarType::ComplexFloat, proto::DT_COMPLEX64},
    {ScalarType::ComplexDouble, proto::DT_COMPLEX128},
    {ScalarType::Float8_e5m2, proto::DT_FLOAT8_E5M2},
    {ScalarType::Float8_e4m3fn, proto::DT_FLOAT8_E4M3FN},
}};

}  // namespace

proto::DataType to_data_type(ScalarType type) {
  for (const auto& [scalar, data] : kTypes) {
    if (scalar == type) return data;
  }
  return proto::DT_INVALID;
}

ScalarType to_scalar_type(proto::DataType type) {
  for (const auto& [scalar, data] : kTypes) {
    if (data == type) return scalar;
  }
  return ScalarType::Undefined;
}

}  // namespace belfry
