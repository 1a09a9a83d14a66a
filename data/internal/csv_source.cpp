#include "data/internal/csv_source.h"

#include "core/error.h"
#include "core/file_system.h"
#include "core/hash64.h"
#include "data/internal/csv_table.h"
#include "data/internal/tensor_source.h"

namespace belfry::data_internal {
namespace {

// The folder is left out: a moved file is the same data.
std::string describe_file(const std::string& path, std::string_view content) {
  return concat("'", path.substr(path.find_last_of('/') + 1), "' ", content.size(), " bytes ", std::hex,
                hash64(content));
}

// What of the options the shapes and names of the columns do not show.
std::string describe_options(const CsvOptions& options) {
  std::string text = options.separator == ',' ? "" : concat("; separator '", options.separator, "'");
  for (const std::string& value : options.na_values) text += "; missing '" + value + "'";
  for (const auto& [column, value] : options.defaults) text += "; default of '" + column + "' '" + value + "'";
  return text;
}

}  // namespace

NodePtr read_csv(const std::vector<std::string>& paths, const CsvOptions& options) {
  require(!paths.empty(), "Dataset::from_csv: no path was given");
  CsvTable table(options);
  FileSystem& files = options.file_system ? *options.file_system : posix_file_system();
  std::string origin = "csv[";
  for (const std::string& path : paths) {
    const std::string content = read_file(files, path);
    table.read(content, path);
    origin += (origin.size() > 4 ? ", " : "") + describe_file(path, content);
  }
  origin += describe_options(options) + "]";
  auto [features, labels] = table.finish();
  return std::make_shared<TensorSource>(std::move(features), std::move(labels), std::move(origin));
}

}  // namespace belfry::data_internal
