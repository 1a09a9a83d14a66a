#include "data/internal/csv_table.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <set>

#include "core/error.h"

namespace belfry::data_internal {
namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void require_distinct(const char* what, const std::vector<std::string>& names) {
  std::set<std::string> seen;
  for (const std::string& name : names) {
    require(seen.insert(name).second, what, ": the column '", name, "' comes twice");
  }
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "'" : ", '") + name + "'";
  return text;
}

// [rows, columns] of columns of [rows].
Value as_matrix(const TensorDict& columns, const std::string& matrix) {
  std::vector<at::Tensor> tensors;
  const auto& [first_name, first] = *columns.begin();
  for (const auto& [name, value] : columns) {
    require(value.is_tensor(), "CsvOptions::matrix '", matrix, "': column '", name, "' is text");
    require(value.tensor().scalar_type() == first.tensor().scalar_type(), "CsvOptions::matrix '", matrix, "': column '",
            first_name, "' is ", first.tensor().scalar_type(), " and '", name, "' is ", value.tensor().scalar_type());
    tensors.push_back(value.tensor());
  }
  return at::stack(tensors, 1);
}

}  // namespace

CsvTable::CsvTable(const CsvOptions& options) : options_(options), label_names_(options.labels) {
  const char separator = options.separator;
  require(separator != '"' && separator != '\n' && separator != '\r', "CsvOptions::separator: a quote or line end");
  require(options.label.empty() || options.labels.empty(), "CsvOptions: label and labels are both given");
  require(options.header == options.column_names.empty(), "CsvOptions: header is ", options.header ? "true" : "false",
          " and column_names has ", options.column_names.size(), " names; they are for files without a header line");
  if (!options.label.empty()) label_names_ = {options.label};
  require_distinct("CsvOptions::columns", options.columns);
  require_distinct("CsvOptions::labels", label_names_);
  for (const std::string& label : label_names_) {
    require(!contains(options.columns, label), "CsvOptions: '", label, "' is a feature column and a label");
  }
}

int64_t CsvTable::read(std::string_view text, const std::string& file) {
  CsvTokenizer tokens(text, file, options_.separator);
  if (options_.header) {
    read_header(tokens, file);
  } else if (header_.empty()) {
    set_header(options_.column_names, file);
  }
  std::vector<CsvCell> cells;
  int64_t rows = 0;
  for (; tokens.next(cells); ++rows) read_row(cells, {file, tokens.line()});
  require(rows > 0, file, ": there are no data rows");
  return rows;
}

void CsvTable::read_header(CsvTokenizer& tokens, const std::string& file) {
  std::vector<CsvCell> cells;
  require(tokens.next(cells), file, ": the file is empty; a header line was wanted");
  std::vector<std::string> header;
  for (const CsvCell& cell : cells) header.emplace_back(cell.text);
  if (header_.empty()) {
    set_header(std::move(header), file);
  } else {
    require_same_header(header, file);
  }
}

void CsvTable::set_header(std::vector<std::string> header, const std::string& file) {
  require_distinct(file.c_str(), header);
  header_ = std::move(header);
  first_file_ = file;
  for (const auto& [column, type] : options_.dtypes) index_of(column, file);
  for (const auto& [column, text] : options_.defaults) index_of(column, file);
  choose_columns(file);
}

void CsvTable::require_same_header(const std::vector<std::string>& header, const std::string& file) const {
  require(header.size() == header_.size(), file, ": the header has ", header.size(), " columns and that of ",
          first_file_, " has ", header_.size());
  for (size_t i = 0; i < header.size(); ++i) {
    require(header[i] == header_[i], file, ": column ", i + 1, " of the header is '", header[i], "' and in ",
            first_file_, " it is '", header_[i], "'");
  }
}

size_t CsvTable::index_of(const std::string& column, const std::string& file) const {
  const auto found = std::find(header_.begin(), header_.end(), column);
  if (found == header_.end()) {
    fail(ErrorKind::kNotFound, file, ":1: there is no column '", column, "'; there are ", listed(header_));
  }
  return static_cast<size_t>(found - header_.begin());
}

void CsvTable::choose_columns(const std::string& file) {
  for (const std::string& label : label_names_) {
    labels_.push_back({index_of(label, file), CsvColumn(label, options_)});
  }
  for (const std::string& column : options_.columns.empty() ? header_ : options_.columns) {
    if (contains(label_names_, column)) continue;
    features_.push_back({index_of(column, file), CsvColumn(column, options_)});
  }
  require(!features_.empty(), file, ": every column is a label; no feature is left");
}

void CsvTable::read_row(const std::vector<CsvCell>& cells, const CsvPlace& place) {
  if (cells.size() < header_.size()) {
    fail(ErrorKind::kInvalidArgument, place.file, ":", place.line, ": the row has ", cells.size(), " cells where ",
         header_.size(), " were wanted; column '", header_[cells.size()], "' is the first without one");
  }
  require(cells.size() == header_.size(), place.file, ":", place.line, ": the row has ", cells.size(), " cells where ",
          header_.size(), " were wanted; the last column is '", header_.back(), "'");
  for (Chosen& feature : features_) feature.column.add(cells[feature.index], place);
  for (Chosen& label : labels_) label.column.add(cells[label.index], place);
}

Batch CsvTable::finish() {
  Batch table;
  for (Chosen& feature : features_) table.features.set(feature.column.name(), feature.column.finish());
  if (!options_.matrix.empty()) table.features = {{options_.matrix, as_matrix(table.features, options_.matrix)}};
  for (Chosen& label : labels_) {
    const bool lone = !options_.label.empty();
    table.labels.set(lone ? "" : label.column.name(), label.column.finish());
  }
  return table;
}

}  // namespace belfry::data_internal
