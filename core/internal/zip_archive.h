// Archives of the ZIP format, by libzip.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/file_system.h"
#include "core/internal/byte_reader.h"

namespace belfry::internal {

// Reads entries that are stored or deflated. Used by one thread.
class ZipArchive {
 public:
  // `file` has to outlive this object; `path` is for messages. kDataLoss for a damaged archive, and for one whose
  // entries claim more than their compressed bytes can hold: so memory for an entry may be asked for.
  ZipArchive(const RandomAccessFile& file, const std::string& path);
  ZipArchive(const ZipArchive&) = delete;
  ZipArchive& operator=(const ZipArchive&) = delete;
  ~ZipArchive();

  uint64_t entries() const;
  std::string name(uint64_t entry) const;
  // One at a time, no longer than this object lives. The reader's last byte comes only when the checksum is right.
  std::unique_ptr<ByteReader> open(uint64_t entry) const;

  // Reads all entries, for their checksums. kDataLoss, with the entry's name, for one that is wrong; also when there are
  // none.
  void check_all() const;

 private:
  struct Archive;

  std::unique_ptr<Archive> archive_;
};

}  // namespace belfry::internal
