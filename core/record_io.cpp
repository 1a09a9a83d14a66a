#include "core/record_io.h"

#include <algorithm>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/internal/little_endian.h"

namespace belfry {
namespace {

constexpr uint64_t kHeaderSize = 12;
constexpr uint64_t kFooterSize = 4;

}  // namespace

void RecordWriter::write(std::string_view record) {
  std::string header;
  put_little_endian<uint64_t>(header, record.size());
  put_little_endian(header, masked_crc32c(header));
  std::string footer;
  put_little_endian(footer, masked_crc32c(record));
  file_->append(header);
  file_->append(record);
  file_->append(footer);
}

RecordReader::RecordReader(FileSystem& files, const std::string& path, RecordReaderOptions options)
    : RecordReader(files.open(path), path, options) {}

RecordReader::RecordReader(std::unique_ptr<RandomAccessFile> file, std::string path, RecordReaderOptions options)
    : file_(std::move(file)), path_(std::move(path)), options_(options), file_size_(file_->size()) {}

bool RecordReader::next(std::string& record) {
  record.clear();
  uint64_t length = 0;
  if (!next_length(length)) return false;
  if (!available(length) || !available(kHeaderSize + length) || !available(kHeaderSize + length + kFooterSize)) {
    return truncated(length);
  }
  const std::string_view bytes = peek(kHeaderSize, length + kFooterSize);
  const std::string_view data = bytes.substr(0, length);
  if (get_little_endian<uint32_t>(bytes.substr(length)) != masked_crc32c(data)) fail_corrupt("record");
  record.assign(data);
  offset_ += kHeaderSize + length + kFooterSize;
  return true;
}

// False at the end of the records.
bool RecordReader::next_length(uint64_t& length) {
  if (!available(1)) {
    if (offset_ == file_size_) return false;
    fail(ErrorKind::kDataLoss, "'", path_, "': a record was wanted at byte ", offset_, ", and the file has ",
         file_size_, " bytes");
  }
  if (!available(kHeaderSize)) return truncated(kHeaderSize);
  const std::string_view header = peek(0, kHeaderSize);
  length = get_little_endian<uint64_t>(header);
  if (get_little_endian<uint32_t>(header.substr(8)) != masked_crc32c(header.substr(0, 8))) fail_corrupt("length");
  return true;
}

// Whether that many bytes follow the place. Asks the file again before it says no: the writer may be at work.
bool RecordReader::available(uint64_t length) {
  const auto enough = [&] { return offset_ <= file_size_ && length <= file_size_ - offset_; };
  if (!enough()) file_size_ = file_->size();
  return enough();
}

// Bytes that are available(). Valid until the next call.
std::string_view RecordReader::peek(uint64_t skip, uint64_t length) {
  const uint64_t start = offset_ + skip;
  if (start < buffer_offset_ || start + length > buffer_offset_ + buffer_.size()) {
    const uint64_t ahead = std::min(std::max(length, options_.buffer_size), file_size_ - start);
    buffer_.clear();  // stays empty when the read fails
    std::string bytes(ahead, '\0');
    file_->read(start, ahead, bytes.data());
    buffer_ = std::move(bytes);
    buffer_offset_ = start;
  }
  return std::string_view(buffer_).substr(start - buffer_offset_, length);
}

// False, for next() to give back, or kDataLoss.
bool RecordReader::truncated(uint64_t wanted) const {
  if (options_.stop_at_truncated_tail) return false;
  fail(ErrorKind::kDataLoss, "'", path_, "' is truncated: the record at byte ", offset_, " has ", wanted,
       " bytes or more, and the file ends at byte ", file_size_);
}

void RecordReader::fail_corrupt(const char* what) const {
  fail(ErrorKind::kDataLoss, "'", path_, "' is damaged: the ", what, " at byte ", offset_, " fails its checksum");
}

}  // namespace belfry
