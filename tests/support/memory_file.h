// A file that is a string.
#pragma once

#include <algorithm>
#include <string>

#include "core/error.h"
#include "core/file_system.h"

namespace belfry::testing {

class MemoryFile : public RandomAccessFile {
 public:
  explicit MemoryFile(std::string content) : content_(std::move(content)) {}

  uint64_t size() const override { return content_.size(); }

  void read(uint64_t offset, uint64_t length, char* to) const override {
    if (offset > content_.size() || length > content_.size() - offset) {
      fail(ErrorKind::kDataLoss, "memory: bytes ", offset, " to ", offset + length, " of ", content_.size());
    }
    std::copy_n(content_.data() + offset, length, to);
  }

 private:
  std::string content_;
};

}  // namespace belfry::testing
