#include "data/internal/text_source.h"

#include "core/error.h"
#include "data/dataset.h"
#include "data/internal/describe_file.h"
#include "data/internal/file_source.h"
#include "data/internal/text_stream.h"

namespace belfry::data_internal {
namespace {

TextFile examine(FileSystem& system, const std::string& path) {
  const std::unique_ptr<RandomAccessFile> file = system.open(path);
  return {path, file->size(), describe_ends(*file, path)};
}

class TextSource : public Node, public FileSource {
 public:
  TextSource(std::vector<TextFile> files, const TextLineOptions& options)
      : files_(std::move(files)), options_(options) {}

  std::string describe() const override {
    std::string text = "text_lines[";
    for (const TextFile& file : files_) text += (&file == &files_[0] ? "" : ", ") + file.description;
    if (options_.cycle_length > 1) text += concat("; cycle_length ", options_.cycle_length);
    return text + "]";
  }

  int64_t cardinality() const override { return kUnknownCardinality; }
  bool batched() const override { return false; }
  std::optional<ElementSpec> element_spec() const override { return ElementSpec{.features = {{"", EntrySpec()}}}; }
  int64_t files() const override { return static_cast<int64_t>(files_.size()); }

  std::unique_ptr<Stream> open(int64_t) const override {
    FileSystem& system = options_.file_system ? *options_.file_system : posix_file_system();
    return std::make_unique<TextStream>(system, files_, options_.cycle_length);
  }

  NodePtr shard_files(int64_t count, int64_t index) const override {
    std::vector<TextFile> chosen;
    for (int64_t i = index; i < files(); i += count) chosen.push_back(files_[static_cast<size_t>(i)]);
    return std::make_shared<TextSource>(std::move(chosen), options_);
  }

 private:
  std::vector<TextFile> files_;
  TextLineOptions options_;
};

}  // namespace

NodePtr open_text_lines(const std::vector<std::string>& paths, const TextLineOptions& options) {
  require(!paths.empty(), "Dataset::from_text_lines: no path was given");
  require(options.cycle_length > 0, "Dataset::from_text_lines: cycle_length is ", options.cycle_length,
          "; at least 1 was wanted");
  FileSystem& system = options.file_system ? *options.file_system : posix_file_system();
  std::vector<TextFile> files;
  for (const std::string& path : paths) files.push_back(examine(system, path));
  return std::make_shared<TextSource>(std::move(files), options);
}

}  // namespace belfry::data_internal
