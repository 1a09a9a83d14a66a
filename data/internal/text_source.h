// Dataset::from_text_lines.
#pragma once

#include <string>
#include <vector>

#include "data/internal/node.h"
#include "data/text_line_options.h"

namespace belfry::data_internal {

// Looks at the files' sizes and ends; their lines are read by each stream.
NodePtr open_text_lines(const std::vector<std::string>& paths, const TextLineOptions& options);

}  // namespace belfry::data_internal
