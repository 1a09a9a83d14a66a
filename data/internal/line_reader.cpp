#include "data/internal/line_reader.h"

#include <algorithm>

namespace belfry::data_internal {
namespace {

constexpr uint64_t kBufferSize = 64 * 1024;

}  // namespace

std::optional<std::string> LineReader::next() {
  std::string line;
  bool any = false;
  while (at_ < buffer_.size() || fill()) {
    any = true;
    const size_t end = buffer_.find('\n', at_);
    line.append(buffer_, at_, end - at_);
    at_ = end == std::string::npos ? buffer_.size() : end + 1;
    if (end != std::string::npos) break;
  }
  if (!any) return std::nullopt;
  if (line.ends_with('\r')) line.pop_back();
  return line;
}

void LineReader::seek(uint64_t offset) {
  start_ = offset;
  buffer_.clear();
  at_ = 0;
}

bool LineReader::fill() {
  seek(start_ + buffer_.size());
  const uint64_t length = std::min(kBufferSize, size_ - start_);
  std::string bytes(length, '\0');
  file_->read(start_, length, bytes.data());
  buffer_ = std::move(bytes);
  return length > 0;
}

}  // namespace belfry::data_internal
