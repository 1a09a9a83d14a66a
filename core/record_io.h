// TFRecord files: records of any bytes, each with its length and two checksums.
//
// A record is its length (8 bytes), the masked CRC-32C of those (4), the bytes, and their masked CRC-32C (4); numbers
// are little-endian.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "file_system.h"

namespace belfry {

// Appends records to a file, which it owns. Used by one thread. Errors are the file's own (kIo); after one the end of
// the file may hold half a record, which RecordReader tells as a truncated tail.
class RecordWriter {
 public:
  explicit RecordWriter(std::unique_ptr<WritableFile> file) : file_(std::move(file)) {}

  void write(std::string_view record);
  void flush() { file_->flush(); }
  void sync() { file_->sync(); }
  void close() { file_->close(); }

 private:
  std::unique_ptr<WritableFile> file_;
};

struct RecordReaderOptions {
  // A file that ends inside a record, as one does whose writer was killed or is still at work: false is kDataLoss, true
  // is the end of the records. Wrong bytes before the end are kDataLoss either way.
  bool stop_at_truncated_tail = false;
  uint64_t buffer_size = 256 * 1024;  // read ahead, in bytes
};

// Reads records one after another, or from a place that was told before. Used by one thread.
class RecordReader {
 public:
  // Errors of opening come from the file system: kNotFound, kIo.
  RecordReader(FileSystem& files, const std::string& path, RecordReaderOptions options = {});
  // `path` is for messages.
  RecordReader(std::unique_ptr<RandomAccessFile> file, std::string path, RecordReaderOptions options = {});

  // False, with `record` empty, at the end; a later call looks again, so a growing file can be followed. kDataLoss,
  // with the path and the byte where the record begins, for a truncated or damaged one: the place does not move.
  bool next(std::string& record);
  // The byte where the next record begins.
  uint64_t offset() const { return offset_; }
  // `offset` must be one that offset() gave for these bytes; anything else is kDataLoss at next().
  void seek(uint64_t offset) { offset_ = offset; }

 private:
  bool next_length(uint64_t& length);
  bool available(uint64_t length);
  std::string_view peek(uint64_t skip, uint64_t length);
  bool truncated(uint64_t wanted) const;
  [[noreturn]] void fail_corrupt(const char* what) const;

  std::unique_ptr<RandomAccessFile> file_;
  std::string path_;
  RecordReaderOptions options_;
  uint64_t file_size_ = 0;
  uint64_t offset_ = 0;
  std::string buffer_;
  uint64_t buffer_offset_ = 0;
};

}  // namespace belfry
