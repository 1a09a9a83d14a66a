// CSV files as columns.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/batch.h"
#include "data/internal/csv_column.h"

namespace belfry::data_internal {

// Collects the chosen columns of one or more files with the same header.
class CsvTable {
 public:
  // Checks what can be checked without a file. `options` has to outlive this object.
  explicit CsvTable(const CsvOptions& options);

  // Appends all rows of a file, whose content is `text`, and says how many. See Dataset::from_csv for the errors.
  int64_t read(std::string_view text, const std::string& file);
  // Ends the use of this object.
  Batch finish();

 private:
  struct Chosen {
    size_t index = 0;  // in a row
    CsvColumn column;
  };

  void read_header(CsvTokenizer& tokens, const std::string& file);
  void set_header(std::vector<std::string> header, const std::string& file);
  void require_same_header(const std::vector<std::string>& header, const std::string& file) const;
  size_t index_of(const std::string& column, const std::string& file) const;
  void choose_columns(const std::string& file);
  void read_row(const std::vector<CsvCell>& cells, const CsvPlace& place);

  const CsvOptions& options_;
  std::vector<std::string> label_names_;
  std::string first_file_;
  std::vector<std::string> header_;
  std::vector<Chosen> features_;
  std::vector<Chosen> labels_;
};

}  // namespace belfry::data_internal
