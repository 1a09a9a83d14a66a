#include "data/internal/position.h"

#include "core/error.h"
#include "core/hash64.h"

namespace belfry::data_internal {
namespace {

constexpr std::string_view kMark = "belfry data position 1\n";
constexpr size_t kNumberBytes = 8;

// Little endian on every machine.
void append_number(std::string& bytes, uint64_t value) {
  for (size_t i = 0; i < kNumberBytes; ++i) bytes.push_back(static_cast<char>(value >> (8 * i) & 0xff));
}

uint64_t take_number(std::string_view& bytes) {
  if (bytes.size() < kNumberBytes) fail(ErrorKind::kDataLoss, "the data position is cut off");
  uint64_t value = 0;
  for (size_t i = 0; i < kNumberBytes; ++i) value |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  bytes.remove_prefix(kNumberBytes);
  return value;
}

}  // namespace

void PositionWriter::number(int64_t value) { append_number(bytes_, static_cast<uint64_t>(value)); }

void PositionWriter::text(std::string_view value) {
  number(static_cast<int64_t>(value.size()));
  bytes_ += value;
}

int64_t PositionReader::number(int64_t limit) {
  const auto value = static_cast<int64_t>(take_number(bytes_));
  if (value < 0 || (limit >= 0 && value > limit)) {
    fail(ErrorKind::kDataLoss, "the data position holds ", value, " where at most ", limit, " is possible");
  }
  return value;
}

std::string_view PositionReader::text() {
  const auto length = static_cast<size_t>(number());
  if (length > bytes_.size()) fail(ErrorKind::kDataLoss, "the data position is cut off");
  const std::string_view value = bytes_.substr(0, length);
  bytes_.remove_prefix(length);
  return value;
}

std::string seal(const Position& position) {
  std::string bytes;
  bytes.reserve(kMark.size() + position.streams.size() + 3 * kNumberBytes);
  bytes += kMark;
  append_number(bytes, position.fingerprint);
  append_number(bytes, static_cast<uint64_t>(position.rows_seen));
  bytes += position.streams;
  append_number(bytes, hash64(bytes));
  return bytes;
}

Position unseal(std::string_view bytes) {
  if (!bytes.starts_with(kMark) || bytes.size() < kMark.size() + 3 * kNumberBytes) {
    fail(ErrorKind::kDataLoss, "these ", bytes.size(), " bytes are no position of a data set");
  }
  std::string_view checksum = bytes.substr(bytes.size() - kNumberBytes);
  bytes.remove_suffix(kNumberBytes);
  if (take_number(checksum) != hash64(bytes)) fail(ErrorKind::kDataLoss, "the data position fails its checksum");
  bytes.remove_prefix(kMark.size());
  Position position;
  position.fingerprint = take_number(bytes);
  position.rows_seen = static_cast<int64_t>(take_number(bytes));
  position.streams = bytes;
  return position;
}

}  // namespace belfry::data_internal
