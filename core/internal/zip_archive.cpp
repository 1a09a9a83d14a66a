#include "core/internal/zip_archive.h"

#include <zip.h>

#include <algorithm>
#include <exception>
#include <functional>

#include "core/error.h"
#include "core/internal/zip_input.h"

namespace belfry::internal {
namespace {

constexpr uint64_t kLargestRead = 1 << 30;

struct CloseEntry {
  void operator()(zip_file_t* entry) const { zip_fclose(entry); }
};

}  // namespace

struct ZipArchive::Archive {
  explicit Archive(const RandomAccessFile& file, const std::string& where) : path(where), source{file, file.size()} {}
  ~Archive() {
    if (zip) zip_discard(zip);
  }

  // What the file said, or else what libzip does.
  [[noreturn]] void give_up(const std::string& where, zip_error_t* error) {
    if (source.failure) std::rethrow_exception(source.failure);
    const bool silent = zip_error_code_zip(error) == ZIP_ER_OK;
    fail(ErrorKind::kDataLoss, where,
         ": the archive cannot be read: ", silent ? "the size is not what it says" : zip_error_strerror(error));
  }

  void open() {
    zip_error_t error;
    zip_error_init(&error);
    const std::unique_ptr<zip_error_t, void (*)(zip_error_t*)> cleared(&error, zip_error_fini);
    zip_source_t* opened = zip_source_function_create(ZipInput::serve, &source, &error);
    if (opened) zip = zip_open_from_source(opened, ZIP_RDONLY, &error);
    if (zip) return;
    if (opened) zip_source_free(opened);
    give_up(path, &error);
  }

  zip_stat_t stat(uint64_t entry) {
    zip_stat_t stat;
    zip_stat_init(&stat);
    constexpr uint64_t kNeeded = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
    if (zip_stat_index(zip, entry, 0, &stat) != 0) give_up(path, zip_get_error(zip));
    if ((stat.valid & kNeeded) != kNeeded) fail(ErrorKind::kDataLoss, path, ": entry ", entry, " lacks its sizes");
    return stat;
  }

  // A deflated byte stands for no more than 1032, and no two entries share one.
  void check_sizes() {
    uint64_t compressed = 0;
    const auto entries = static_cast<uint64_t>(zip_get_num_entries(zip, 0));
    for (uint64_t entry = 0; entry < entries; ++entry) {
      const zip_stat_t stat = this->stat(entry);
      const std::string where = concat(path, ": '", stat.name, "'");
      require(stat.comp_method == ZIP_CM_STORE || stat.comp_method == ZIP_CM_DEFLATE, where,
              " is compressed by method ", stat.comp_method, "; 0 (stored) or 8 (deflated) was wanted");
      require(stat.encryption_method == ZIP_EM_NONE, where, " is encrypted");
      const uint64_t most = stat.comp_method == ZIP_CM_STORE ? stat.comp_size : 1032 * (stat.comp_size + 1);
      if (stat.comp_size > source.size - compressed || stat.size > most) {
        fail(ErrorKind::kDataLoss, where, " claims ", stat.size, " bytes in ", stat.comp_size,
             " of the archive: more than there can be");
      }
      compressed += stat.comp_size;
    }
  }

  std::string path;
  ZipInput source;
  zip_t* zip = nullptr;
};

namespace {

class EntryReader : public ByteReader {
 public:
  using Fail = std::function<void(zip_file_t*)>;

  EntryReader(zip_file_t* entry, uint64_t size, Fail give_up)
      : entry_(entry), left_(size), give_up_(std::move(give_up)) {
    if (left_ == 0) check_end();
  }

  uint64_t left() const override { return left_; }

  void read(uint64_t length, char* to) override {
    while (length > 0) {
      const int64_t count = zip_fread(entry_.get(), to, std::min(length, kLargestRead));
      if (count <= 0) give_up_(entry_.get());
      to += count;
      length -= static_cast<uint64_t>(count);
      left_ -= static_cast<uint64_t>(count);
    }
    if (left_ == 0) check_end();
  }

 private:
  // libzip compares the checksum when it is asked for more than there is.
  void check_end() {
    char more = 0;
    if (zip_fread(entry_.get(), &more, 1) != 0) give_up_(entry_.get());
  }

  std::unique_ptr<zip_file_t, CloseEntry> entry_;
  uint64_t left_;
  Fail give_up_;
};

}  // namespace

ZipArchive::ZipArchive(const RandomAccessFile& file, const std::string& path)
    : archive_(std::make_unique<Archive>(file, path)) {
  archive_->open();
  archive_->check_sizes();
}

ZipArchive::~ZipArchive() = default;

uint64_t ZipArchive::entries() const { return static_cast<uint64_t>(zip_get_num_entries(archive_->zip, 0)); }

std::string ZipArchive::name(uint64_t entry) const { return archive_->stat(entry).name; }

std::unique_ptr<ByteReader> ZipArchive::open(uint64_t entry) const {
  const zip_stat_t stat = archive_->stat(entry);
  const std::string where = concat(archive_->path, ": '", stat.name, "'");
  zip_file_t* opened = zip_fopen_index(archive_->zip, entry, 0);
  if (!opened) archive_->give_up(where, zip_get_error(archive_->zip));
  return std::make_unique<EntryReader>(opened, stat.size, [archive = archive_.get(), where](zip_file_t* file) {
    archive->give_up(where, zip_file_get_error(file));
  });
}

void ZipArchive::check_all() const {
  if (entries() == 0) fail(ErrorKind::kDataLoss, archive_->path, ": there is nothing in the archive");
  std::vector<char> part(1 << 20);
  for (uint64_t entry = 0; entry < entries(); ++entry) {
    const std::unique_ptr<ByteReader> bytes = open(entry);
    while (bytes->left() > 0) bytes->read(std::min<uint64_t>(bytes->left(), part.size()), part.data());
  }
}

}  // namespace belfry::internal
