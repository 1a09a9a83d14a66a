// The lines of one text file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/file_system.h"

namespace belfry::data_internal {

// Holds 64 KiB and the line that is being read. A line ends in LF or CRLF, which are no part of it; the last one need
// not end.
class LineReader {
 public:
  // Reads the first `size` bytes.
  LineReader(std::unique_ptr<RandomAccessFile> file, uint64_t size) : file_(std::move(file)), size_(size) {}

  // Nothing at the end.
  std::optional<std::string> next();
  // Where the next line begins, and to go to such a place.
  uint64_t offset() const { return start_ + at_; }
  void seek(uint64_t offset);

 private:
  bool fill();

  std::unique_ptr<RandomAccessFile> file_;
  uint64_t size_;
  uint64_t start_ = 0;  // of the buffer, in the file
  std::string buffer_;
  size_t at_ = 0;  // in the buffer
};

}  // namespace belfry::data_internal
