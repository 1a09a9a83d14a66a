#include "data/internal/npy_file.h"

#include <algorithm>

#include "core/error.h"
#include "data/internal/npy_array.h"
#include "data/internal/npy_header.h"
#include "core/internal/zip_archive.h"

namespace belfry::data_internal {
namespace {

constexpr std::string_view kZipMagic = "PK";
constexpr std::string_view kSuffix = ".npy";

class FileReader : public internal::ByteReader {
 public:
  explicit FileReader(const RandomAccessFile& file) : file_(file), size_(file.size()) {}

  uint64_t left() const override { return size_ - at_; }

  void read(uint64_t length, char* to) override {
    file_.read(at_, length, to);
    at_ += length;
  }

 private:
  const RandomAccessFile& file_;
  uint64_t size_;
  uint64_t at_ = 0;
};

std::string first_bytes(const RandomAccessFile& file, size_t count) {
  std::string bytes(std::min<uint64_t>(count, file.size()), '\0');
  file.read(0, bytes.size(), bytes.data());
  return bytes;
}

}  // namespace

Features read_npy_file(const RandomAccessFile& file, const std::string& path) {
  FileReader bytes(file);
  Features features;
  features.set("", read_npy_array(bytes, path));
  return features;
}

Features read_npz_file(const RandomAccessFile& file, const std::string& path) {
  require(first_bytes(file, kZipMagic.size()) == kZipMagic, path,
          ": this is no archive of NumPy, which begins with 'PK'");
  const internal::ZipArchive archive(file, path);
  Features features;
  for (uint64_t entry = 0; entry < archive.entries(); ++entry) {
    std::string name = archive.name(entry);
    const std::string where = concat(path, ": '", name, "'");
    require(name.ends_with(kSuffix), where, " is no array: its name does not end in ", kSuffix);
    name.resize(name.size() - kSuffix.size());
    require(!features.contains(name), where, " comes twice");
    features.set(name, read_npy_array(*archive.open(entry), where));
  }
  return features;
}

Features read_numpy_file(const RandomAccessFile& file, const std::string& path) {
  const bool archive = first_bytes(file, kZipMagic.size()) == kZipMagic;
  return archive ? read_npz_file(file, path) : read_npy_file(file, path);
}

}  // namespace belfry::data_internal
