// The head of an array file of NumPy.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/internal/byte_reader.h"

namespace belfry::data_internal {

struct NpyHeader {
  std::string descr;  // the type, such as "<f4"
  bool fortran_order = false;
  std::vector<int64_t> shape;  // each at least 0
};

inline constexpr std::string_view kNpyMagic = "\x93NUMPY";

// Leaves `bytes` at the first of the array. `where` opens all messages. kInvalidArgument for bytes of another kind or
// version and for record types; kDataLoss for a damaged header.
NpyHeader read_npy_header(internal::ByteReader& bytes, const std::string& where);

}  // namespace belfry::data_internal
