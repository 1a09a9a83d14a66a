#include "data/csv_options.h"

namespace belfry {

const char* to_string(CsvType type) {
  switch (type) {
    case CsvType::kFloat32:
      return "float32";
    case CsvType::kFloat64:
      return "float64";
    case CsvType::kInt64:
      return "int64";
    case CsvType::kString:
      return "string";
  }
  return "unknown";
}

}  // namespace belfry
