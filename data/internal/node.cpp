#include "data/internal/node.h"

#include <vector>

#include "data/internal/rows.h"

namespace belfry::data_internal {

std::optional<Batch> Stream::next_rows(int64_t count) {
  std::vector<Batch> elements;
  while (static_cast<int64_t>(elements.size()) < count) {
    std::optional<Batch> element = next();
    if (!element) break;
    elements.push_back(*std::move(element));
  }
  if (elements.empty()) return std::nullopt;
  return stack(elements);
}

}  // namespace belfry::data_internal
