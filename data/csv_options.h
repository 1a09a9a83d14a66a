// How a CSV file becomes columns.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace belfry {

class FileSystem;

enum class CsvType { kFloat32, kFloat64, kInt64, kString };

// "float32", "float64", "int64", "string".
const char* to_string(CsvType type);

// Files are RFC 4180: cells may be quoted, a quoted cell may hold separators, line ends and doubled quotes; lines end
// in LF or CRLF. A UTF-8 byte order mark and blank lines are skipped. A cell is missing when it is empty or equal to
// one of `na_values`, and not quoted.
struct CsvOptions {
  // What is read. Column names are those of the header line, or `column_names` where `header` is false.
  bool header = true;
  std::vector<std::string> column_names;
  char separator = ',';
  // The features, in this order; empty means every column that is not a label.
  std::vector<std::string> columns;
  // The label column, which becomes the only entry of the labels, under the empty name; empty means none.
  std::string label;
  // Several label columns, each under its own name. Not together with `label`.
  std::vector<std::string> labels;
  // If set, the feature columns, which then have to be numbers of one type, become one feature of this name and shape
  // [rows, columns].
  std::string matrix;

  // How cells are read. A column without an entry in `dtypes` is text when its first cell that is not missing is not a
  // finite number; else it is float32, or int64 if `infer_integers` is set and every cell is an integer. Text in a
  // column of numbers is an error wherever it stands.
  std::map<std::string, CsvType> dtypes;
  bool infer_integers = false;
  // Other ways to write "missing", such as "NA" or "?".
  std::vector<std::string> na_values;
  // By column, what to read in place of a missing cell. Without one a missing number is an error and missing text is
  // "".
  std::map<std::string, std::string> defaults;

  // Where paths are looked up; null is the machine's own file system. Used during from_csv only.
  FileSystem* file_system = nullptr;
};

}  // namespace belfry
