#include "data/internal/npy_array.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "core/error.h"
#include "core/internal/little_endian.h"
#include "data/internal/npy_header.h"
#include "data/internal/npy_type.h"

namespace belfry::data_internal {
namespace {

constexpr size_t kMostDimensions = 64;  // of NumPy 2

// Of an array of this shape. Also of one without elements the other sizes have to be such that strides can be computed.
uint64_t count_bytes(const NpyHeader& header, uint64_t item_size, const std::string& where) {
  bool empty = false;
  auto bytes = static_cast<int64_t>(item_size);
  for (const int64_t size : header.shape) {
    empty = empty || size == 0;
    if (__builtin_mul_overflow(bytes, std::max<int64_t>(size, 1), &bytes)) {
      fail(ErrorKind::kDataLoss, where, ": an array of shape ", at::IntArrayRef(header.shape), " cannot be");
    }
  }
  return empty ? 0 : static_cast<uint64_t>(bytes);
}

void swap_parts(char* bytes, uint64_t length, uint64_t part_size) {
  for (uint64_t at = 0; at < length; at += part_size) std::reverse(bytes + at, bytes + at + part_size);
}

at::Tensor read_numbers(internal::ByteReader& bytes, const NpyType& type, const std::vector<int64_t>& shape,
                        const std::string& where) {
  const at::Tensor tensor = at::empty(shape, *type.number);
  auto* memory = static_cast<char*>(tensor.mutable_data_ptr());
  const uint64_t length = bytes.left();
  if (length > 0) bytes.read(length, memory);
  if (type.swapped) swap_parts(memory, length, type.part_size);
  if (type.number == at::kBool && std::any_of(memory, memory + length, [](char byte) { return byte & ~1; })) {
    fail(ErrorKind::kDataLoss, where, ": a byte of an array of booleans is neither 0 nor 1");
  }
  return tensor;
}

void append_utf8(std::string& to, char32_t c) {
  const auto put = [&](char32_t lead, int shift) {
    to.push_back(static_cast<char>(lead | c >> shift));
    while (shift > 0) to.push_back(static_cast<char>(0x80 | (c >> (shift -= 6) & 0x3f)));
  };
  if (c < 0x80) return put(0, 0);
  if (c < 0x800) return put(0xc0, 6);
  if (c < 0x10000) return put(0xe0, 12);
  put(0xf0, 18);
}

std::string decode_text(std::string_view item, const std::string& where) {
  std::string text;
  for (; !item.empty(); item.remove_prefix(sizeof(char32_t))) {
    const auto c = get_little_endian<char32_t>(item);
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) {
      fail(ErrorKind::kDataLoss, where, ": 0x", std::hex, static_cast<uint32_t>(c), " is no character of Unicode");
    }
    append_utf8(text, c);
  }
  return text;
}

std::vector<std::string> read_strings(internal::ByteReader& bytes, const NpyType& type, uint64_t count,
                                      const std::string& where) {
  constexpr uint64_t kChunk = 64 * 1024;
  const uint64_t at_once = std::max<uint64_t>(1, kChunk / type.item_size);
  std::vector<std::string> strings;
  strings.reserve(count);
  std::string chunk;
  for (uint64_t left = count; left > 0; left -= chunk.size() / type.item_size) {
    chunk.resize(std::min(at_once, left) * type.item_size);
    bytes.read(chunk.size(), chunk.data());
    if (type.swapped) swap_parts(chunk.data(), chunk.size(), type.part_size);
    for (size_t at = 0; at < chunk.size(); at += type.item_size) {
      std::string_view item = std::string_view(chunk).substr(at, type.item_size);
      const std::string text = type.unicode ? decode_text(item, where) : std::string(item);
      strings.push_back(text.substr(0, text.find_last_not_of('\0') + 1));  // the padding
    }
  }
  return strings;
}

// What was stored in column-major order, whose last dimension goes slowest, is row-major with the sizes reversed.
at::Tensor transposed(const at::Tensor& tensor) {
  std::vector<int64_t> order(static_cast<size_t>(tensor.dim()));
  for (size_t i = 0; i < order.size(); ++i) order[i] = tensor.dim() - 1 - static_cast<int64_t>(i);
  return tensor.permute(order).contiguous();
}

StringTensor transposed(const StringTensor& strings) {
  const at::Tensor places = transposed(at::arange(strings.numel(), at::kLong).reshape(strings.sizes()));
  const auto* place = places.const_data_ptr<int64_t>();
  const std::vector<int64_t> order(place, place + places.numel());
  return strings.reshape({strings.numel()}).index_select(order).reshape(places.sizes().vec());
}

}  // namespace

Value read_npy_array(internal::ByteReader& bytes, const std::string& where) {
  NpyHeader header = read_npy_header(bytes, where);
  const NpyType type = parse_npy_type(header.descr, where);
  if (header.shape.size() > kMostDimensions) {
    fail(ErrorKind::kDataLoss, where, ": the array has ", header.shape.size(), " dimensions; NumPy has no more than ",
         kMostDimensions);
  }
  const uint64_t length = count_bytes(header, type.item_size, where);
  if (length != bytes.left()) {
    fail(ErrorKind::kDataLoss, where, ": an array of type ", header.descr, " and shape ", at::IntArrayRef(header.shape),
         " has ", length, " bytes, and here are ", bytes.left());
  }
  if (header.fortran_order) std::reverse(header.shape.begin(), header.shape.end());
  if (type.number) {
    const at::Tensor tensor = read_numbers(bytes, type, header.shape, where);
    return header.fortran_order ? transposed(tensor) : tensor;
  }
  const StringTensor strings(read_strings(bytes, type, length / type.item_size, where), header.shape);
  return header.fortran_order ? transposed(strings) : strings;
}

}  // namespace belfry::data_internal
