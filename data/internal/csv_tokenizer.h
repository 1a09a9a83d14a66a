// The records of CSV text.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace belfry::data_internal {

struct CsvCell {
  std::string_view text;  // without the quotes
  bool quoted = false;
};

// Splits text as CsvOptions describes. Cells are views of the text, which has to outlive them, or of strings that are
// kept until the next record.
class CsvTokenizer {
 public:
  // `file` is for messages.
  CsvTokenizer(std::string_view text, std::string file, char separator);

  // False at the end. kInvalidArgument, with file and line, for quotes that are not closed or stand inside a cell.
  bool next(std::vector<CsvCell>& cells);
  // Where the last record began, from 1.
  int64_t line() const { return line_; }

 private:
  void skip_blank_lines();
  CsvCell cell();
  CsvCell plain_cell();
  CsvCell quoted_cell();
  bool at_line_end() const;
  void end_line();
  [[noreturn]] void refuse(std::string_view what) const;

  std::string_view text_;
  std::string file_;
  char separator_;
  size_t at_ = 0;
  int64_t line_ = 0;
  int64_t next_line_ = 1;
  std::deque<std::string> unescaped_;
};

}  // namespace belfry::data_internal
