// One column of a CSV file as it is read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/tensor_dict.h"
#include "data/csv_options.h"
#include "data/internal/csv_tokenizer.h"

namespace belfry::data_internal {

// Where a cell stands, for messages.
struct CsvPlace {
  const std::string& file;
  int64_t line;
};

// Takes the cells of a column from top to bottom and turns them into a tensor. Errors name file, line and column.
class CsvColumn {
 public:
  // kInvalidArgument when the default cannot be read as the type that `options` gives the column.
  CsvColumn(std::string name, const CsvOptions& options);

  const std::string& name() const { return name_; }
  void add(const CsvCell& cell, const CsvPlace& place);
  // Shape [rows]. Ends the use of this object.
  Value finish();

 private:
  using Values = std::variant<std::vector<float>, std::vector<double>, std::vector<int64_t>, std::vector<std::string>>;

  bool is_missing(const CsvCell& cell) const;
  void decide(std::string_view first);
  void set_type(CsvType type);
  void add_missing(const CsvPlace& place);
  void append(std::string_view text, const CsvPlace& place);
  void append_number(std::string_view text, const CsvPlace& place);
  void integers_to_floats();
  [[noreturn]] void refuse(std::string_view text, const CsvPlace& place) const;
  [[noreturn]] void refuse_not_finite(std::string_view text, const CsvPlace& place) const;

  std::string name_;
  const CsvOptions& options_;
  std::optional<std::string> default_;
  std::optional<CsvType> type_;
  bool declared_ = false;
  Values values_;
  int64_t undecided_ = 0;  // missing cells before the first that has a value
  std::string undecided_file_;
  int64_t undecided_line_ = 0;
};

}  // namespace belfry::data_internal
