#include "data/internal/csv_source.h"

#include "core/error.h"
#include "core/file_system.h"
#include "core/hash64.h"
#include "data/internal/csv_table.h"
#include "data/internal/describe_file.h"
#include "data/internal/file_source.h"
#include "data/internal/rows.h"
#include "data/internal/tensor_source.h"

namespace belfry::data_internal {
namespace {

// What of the options the shapes and names of the columns do not show.
std::string describe_options(const CsvOptions& options) {
  std::string text = options.separator == ',' ? "" : concat("; separator '", options.separator, "'");
  for (const std::string& value : options.na_values) text += "; missing '" + value + "'";
  for (const auto& [column, value] : options.defaults) text += "; default of '" + column + "' '" + value + "'";
  return text;
}

struct CsvFile {
  std::string description;
  int64_t rows = 0;
};

std::string origin_of(const std::vector<CsvFile>& files, const std::string& options) {
  std::string origin = "csv[";
  for (const CsvFile& file : files) origin += (origin.size() > 4 ? ", " : "") + file.description;
  return origin + options + "]";
}

// The rows of all files, one file after another.
class CsvSource : public TensorSource, public FileSource {
 public:
  CsvSource(Batch table, std::vector<CsvFile> files, std::string options)
      : TensorSource(std::move(table.features), std::move(table.labels), origin_of(files, options)),
        files_(std::move(files)),
        options_(std::move(options)) {}

  int64_t files() const override { return static_cast<int64_t>(files_.size()); }

  // Cut from the columns: what type a column has must not depend on the worker.
  NodePtr shard_files(int64_t count, int64_t index) const override {
    std::vector<CsvFile> chosen;
    std::vector<Batch> blocks;
    int64_t start = 0;
    for (int64_t i = 0; i < files(); ++i) {
      const CsvFile& file = files_[static_cast<size_t>(i)];
      if (i % count == index) {
        chosen.push_back(file);
        blocks.push_back(range(start, 1, file.rows));
      }
      start += file.rows;
    }
    return std::make_shared<CsvSource>(cat(blocks), std::move(chosen), options_);
  }

 private:
  std::vector<CsvFile> files_;
  std::string options_;
};

}  // namespace

NodePtr read_csv(const std::vector<std::string>& paths, const CsvOptions& options) {
  require(!paths.empty(), "Dataset::from_csv: no path was given");
  CsvTable table(options);
  FileSystem& system = options.file_system ? *options.file_system : posix_file_system();
  std::vector<CsvFile> files;
  for (const std::string& path : paths) {
    const std::string content = read_file(system, path);
    const int64_t rows = table.read(content, path);
    files.push_back({describe_file(path, content.size(), hash64(content)), rows});
  }
  return std::make_shared<CsvSource>(table.finish(), std::move(files), describe_options(options));
}

}  // namespace belfry::data_internal
