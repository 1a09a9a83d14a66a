#include "tests/support/fault_injecting_file_system.h"

#include <algorithm>

#include "core/error.h"

namespace belfry::testing {
namespace {

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

}  // namespace

class FaultInjectingWritableFile : public WritableFile {
 public:
  FaultInjectingWritableFile(FaultInjectingFileSystem& files, std::string path, std::unique_ptr<WritableFile> inner,
                             uint64_t size)
      : files_(files), path_(std::move(path)), inner_(std::move(inner)), size_(size) {}

  void append(std::string_view bytes) override {
    try {
      files_.step(FileOperation::kAppend, path_);
    } catch (const Error&) {
      write(bytes.substr(0, bytes.size() / 2));
      throw;
    }
    const uint64_t fitting = files_.take_space(bytes.size());
    write(bytes.substr(0, fitting));
    if (fitting < bytes.size()) fail(ErrorKind::kIo, "cannot write '", path_, "': No space left on device");
  }

  void flush() override {
    files_.step(FileOperation::kFlush, path_);
    inner_->flush();
  }

  void sync() override {
    files_.step(FileOperation::kSync, path_);
    inner_->flush();  // what survives is decided here, so the disk need not be waited for
    files_.mark_synced(path_, size_);
  }

  void close() override {
    files_.step(FileOperation::kClose, path_);
    inner_->close();
  }

 private:
  void write(std::string_view bytes) {
    inner_->append(bytes);
    size_ += bytes.size();
  }

  FaultInjectingFileSystem& files_;
  const std::string path_;
  const std::unique_ptr<WritableFile> inner_;
  uint64_t size_;
};

class FaultInjectingRandomAccessFile : public RandomAccessFile {
 public:
  FaultInjectingRandomAccessFile(FaultInjectingFileSystem& files, std::string path,
                                 std::unique_ptr<RandomAccessFile> inner)
      : files_(files), path_(std::move(path)), inner_(std::move(inner)) {}

  uint64_t size() const override { return inner_->size(); }
  void read(uint64_t offset, uint64_t length, char* to) const override {
    files_.step(FileOperation::kRead, path_);
    inner_->read(offset, length, to);
  }

 private:
  FaultInjectingFileSystem& files_;
  const std::string path_;
  const std::unique_ptr<RandomAccessFile> inner_;
};

void FaultInjectingFileSystem::inject(Fault fault) {
  const std::lock_guard lock(mutex_);
  fault_ = std::move(fault);
  matched_ = 0;
  happened_ = false;
}

bool FaultInjectingFileSystem::fault_happened() const {
  const std::lock_guard lock(mutex_);
  return happened_;
}

void FaultInjectingFileSystem::revive() {
  const std::lock_guard lock(mutex_);
  fault_.reset();
  dead_ = false;
  read_only_ = false;
  space_ = std::numeric_limits<uint64_t>::max();
}

void FaultInjectingFileSystem::limit_space(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  space_ = bytes;
}

void FaultInjectingFileSystem::forbid_writing() {
  const std::lock_guard lock(mutex_);
  read_only_ = true;
}

int64_t FaultInjectingFileSystem::operations() const {
  const std::lock_guard lock(mutex_);
  return operations_;
}

size_t FaultInjectingFileSystem::unsynced_directory_entries() const {
  const std::lock_guard lock(mutex_);
  return changes_.size();
}

void FaultInjectingFileSystem::crash(size_t surviving) {
  const std::lock_guard lock(mutex_);
  for (const auto& [path, size] : synced_sizes_) {
    const std::optional<std::string> bytes = content(path);
    if (bytes && bytes->size() > size) restore(path, bytes->substr(0, size));
  }
  while (changes_.size() > surviving) {
    changes_.back().undo();
    changes_.pop_back();
  }
  changes_.clear();
  synced_sizes_.clear();
  revive();
}

void FaultInjectingFileSystem::step(FileOperation kind, const std::string& path) {
  const std::lock_guard lock(mutex_);
  ++operations_;
  bool fails = dead_;
  if (fault_ && !happened_ && fault_->kind.value_or(kind) == kind &&
      path.find(fault_->path_part) != std::string::npos) {
    happened_ = matched_++ == fault_->at;
    dead_ = dead_ || (happened_ && fault_->process_dies);
    fails = fails || happened_;
  }
  if (fails) fail(ErrorKind::kIo, "'", path, "': this operation was made to fail");
  const bool reads = kind == FileOperation::kOpen || kind == FileOperation::kRead || kind == FileOperation::kExamine;
  if (read_only_ && !reads) fail(ErrorKind::kIo, "'", path, "': Permission denied");
}

uint64_t FaultInjectingFileSystem::take_space(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const uint64_t taken = std::min(bytes, space_);
  space_ -= taken;
  return taken;
}

void FaultInjectingFileSystem::mark_synced(const std::string& path, uint64_t size) {
  const std::lock_guard lock(mutex_);
  synced_sizes_[path] = size;
}

void FaultInjectingFileSystem::remember(const std::string& path, std::function<void()> undo) {
  changes_.push_back({folder_of(path), std::move(undo)});
}

std::optional<std::string> FaultInjectingFileSystem::content(const std::string& path) {
  if (!inner_.exists(path) || inner_.is_directory(path)) return std::nullopt;
  return read_file(inner_, path);
}

void FaultInjectingFileSystem::restore(const std::string& path, const std::optional<std::string>& bytes) {
  inner_.remove_file(path);
  if (!bytes) return;
  const auto file = inner_.create(path);
  file->append(*bytes);
  file->close();
}

std::unique_ptr<WritableFile> FaultInjectingFileSystem::create(const std::string& path) {
  const std::lock_guard lock(mutex_);
  step(FileOperation::kCreate, path);
  remember(path, [this, path, before = content(path)] { restore(path, before); });
  auto file = inner_.create(path);
  synced_sizes_[path] = 0;
  return std::make_unique<FaultInjectingWritableFile>(*this, path, std::move(file), 0);
}

std::unique_ptr<WritableFile> FaultInjectingFileSystem::open_for_append(const std::string& path) {
  const std::lock_guard lock(mutex_);
  step(FileOperation::kOpenForAppend, path);
  const std::optional<std::string> before = content(path);
  if (!before) remember(path, [this, path] { inner_.remove_file(path); });
  auto file = inner_.open_for_append(path);
  const uint64_t size = before ? before->size() : 0;
  synced_sizes_.try_emplace(path, size);
  return std::make_unique<FaultInjectingWritableFile>(*this, path, std::move(file), size);
}

std::unique_ptr<RandomAccessFile> FaultInjectingFileSystem::open(const std::string& path) {
  step(FileOperation::kOpen, path);
  return std::make_unique<FaultInjectingRandomAccessFile>(*this, path, inner_.open(path));
}

bool FaultInjectingFileSystem::exists(const std::string& path) {
  step(FileOperation::kExamine, path);
  return inner_.exists(path);
}

bool FaultInjectingFileSystem::is_directory(const std::string& path) {
  step(FileOperation::kExamine, path);
  return inner_.is_directory(path);
}

std::vector<std::string> FaultInjectingFileSystem::list(const std::string& directory) {
  step(FileOperation::kExamine, directory);
  return inner_.list(directory);
}

void FaultInjectingFileSystem::make_directories(const std::string& path) {
  step(FileOperation::kMakeDirectories, path);
  inner_.make_directories(path);
}

void FaultInjectingFileSystem::rename(const std::string& from, const std::string& to) {
  const std::lock_guard lock(mutex_);
  step(FileOperation::kRename, from);
  const std::optional<std::string> replaced = content(to);
  inner_.rename(from, to);
  const auto synced = synced_sizes_.extract(from);
  synced_sizes_.erase(to);
  if (synced) synced_sizes_[to] = synced.mapped();
  remember(to, [this, from, to, replaced] {
    inner_.rename(to, from);
    restore(to, replaced);
  });
}

void FaultInjectingFileSystem::remove_file(const std::string& path) {
  const std::lock_guard lock(mutex_);
  step(FileOperation::kRemove, path);
  const std::optional<std::string> before = content(path);
  inner_.remove_file(path);
  if (before) remember(path, [this, path, before] { restore(path, before); });
  synced_sizes_.erase(path);
}

void FaultInjectingFileSystem::remove_all(const std::string& path) {
  step(FileOperation::kRemove, path);
  inner_.remove_all(path);
}

void FaultInjectingFileSystem::sync_directory(const std::string& path) {
  const std::lock_guard lock(mutex_);
  step(FileOperation::kSyncDirectory, path);
  const std::string folder = path.ends_with('/') ? path.substr(0, path.size() - 1) : path;
  std::erase_if(changes_, [&](const Change& change) { return change.folder == folder; });
}

}  // namespace belfry::testing
