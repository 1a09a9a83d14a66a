// Numbers in files are little-endian, and so is every machine that LibTorch's wheel runs on.
#pragma once

#include <bit>
#include <cstring>
#include <string>
#include <string_view>

namespace belfry {

static_assert(std::endian::native == std::endian::little, "tensors are written as they lie in memory");

template <class Number>
void put_little_endian(std::string& to, Number number) {
  to.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

// The first bytes of `bytes`, which has to hold that many.
template <class Number>
Number get_little_endian(std::string_view bytes) {
  Number number;
  std::memcpy(&number, bytes.data(), sizeof(number));
  return number;
}

}  // namespace belfry
