// Dataset::from_csv.
#pragma once

#include <string>
#include <vector>

#include "data/csv_options.h"
#include "data/internal/node.h"

namespace belfry::data_internal {

NodePtr read_csv(const std::vector<std::string>& paths, const CsvOptions& options);

}  // namespace belfry::data_internal
