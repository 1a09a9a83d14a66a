// The bytes of DatasetIterator::position.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "data/dataset_iterator.h"

namespace belfry::data_internal {

// Collects what the streams of a pipeline have to remember, the outermost first.
class PositionWriter {
 public:
  void number(int64_t value);
  void text(std::string_view value);
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Gives it back in the same order. kDataLoss when there is less than asked for, or another thing.
class PositionReader {
 public:
  PositionReader(std::string_view bytes, const ReplayProgress& progress) : bytes_(bytes), progress_(progress) {}

  // In [0, limit]; a limit below zero is none.
  int64_t number(int64_t limit = -1);
  bool flag() { return number(1) == 1; }
  std::string_view text();
  bool at_end() const { return bytes_.empty(); }
  const ReplayProgress& progress() const { return progress_; }

 private:
  std::string_view bytes_;
  const ReplayProgress& progress_;
};

struct Position {
  uint64_t fingerprint = 0;
  int64_t rows_seen = 0;
  std::string streams;
};

// With a mark of its kind in front and a checksum behind.
std::string seal(const Position& position);
// kDataLoss unless `bytes` came from seal.
Position unseal(std::string_view bytes);

}  // namespace belfry::data_internal
