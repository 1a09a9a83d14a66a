// The types of NumPy's arrays.
#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <optional>
#include <string>

namespace belfry::data_internal {

struct NpyType {
  std::optional<at::ScalarType> number;  // none: strings
  bool unicode = false;                  // strings of four-byte characters, not of bytes
  bool swapped = false;                  // the bytes of each part are in the other order than this machine's
  uint64_t part_size = 1;                // what is swapped: a number, the half of a complex one, a character
  uint64_t item_size = 0;
};

// From a header's "descr", such as "<f4", "|S5" or ">U7". `where` opens the message. kInvalidArgument, with the types
// there are, for another type.
NpyType parse_npy_type(const std::string& descr, const std::string& where);

}  // namespace belfry::data_internal
