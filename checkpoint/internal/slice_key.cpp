#include "checkpoint/internal/slice_key.h"

#include <bit>

namespace belfry {
namespace {

constexpr char kZero = '\x00';
constexpr char kOnes = '\xff';

void put_name(std::string& key, const std::string& name) {
  for (const char byte : name) {
    key += byte;
    if (byte == kZero) key += kOnes;
    if (byte == kOnes) key += kZero;
  }
  key += kZero;
  key += '\x01';
}

void put_count(std::string& key, uint64_t count) {
  const int length = (std::bit_width(count) + 7) / 8;
  key += static_cast<char>(length);
  for (int i = length; i-- > 0;) key += static_cast<char>(count >> (8 * i));
}

void put_signed(std::string& key, int64_t number) {
  const uint64_t magnitude = number < 0 ? ~static_cast<uint64_t>(number) : static_cast<uint64_t>(number);
  const int length = 1 + static_cast<int>(std::bit_width(magnitude)) / 7;
  // Big-endian, with the sign in front; then the `length` leading ones are flipped in, over the sign bits.
  std::string bytes(static_cast<size_t>(length), number < 0 ? kOnes : kZero);
  for (int i = 0; i < length && i < 8; ++i) {
    bytes[static_cast<size_t>(length - 1 - i)] = static_cast<char>(static_cast<uint64_t>(number) >> (8 * i));
  }
  for (int bit = 0; bit < length; ++bit) bytes[static_cast<size_t>(bit / 8)] ^= static_cast<char>(0x80 >> (bit % 8));
  key += bytes;
}

}  // namespace

std::string slice_key(const std::string& name, const proto::TensorSliceProto& slice) {
  std::string key;
  put_count(key, 0);
  put_name(key, name);
  put_count(key, static_cast<uint64_t>(slice.extent_size()));
  for (const auto& extent : slice.extent()) {
    const bool whole = extent.has_length_case() == proto::TensorSliceProto::Extent::HAS_LENGTH_NOT_SET;
    put_signed(key, whole ? 0 : extent.start());
    put_signed(key, whole ? -1 : extent.length());
  }
  return key;
}

bool is_slice_key(const std::string& key) { return !key.empty() && key.front() == kZero; }

std::string readable_key(const std::string& key) {
  if (!is_slice_key(key)) return key;
  std::string name;
  for (size_t i = 1; i < key.size(); ++i) {
    const bool escaped = i + 1 < key.size() && (key[i] == kZero || key[i] == kOnes);
    if (escaped && key[i] == kZero && key[i + 1] == '\x01') break;
    name += key[i];
    if (escaped) ++i;
  }
  return name;
}

}  // namespace belfry
