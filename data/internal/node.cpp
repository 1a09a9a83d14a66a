#include "data/internal/node.h"

#include <vector>

#include "core/error.h"
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

std::optional<int64_t> Node::batch_size() const {
  if (!input()) return std::nullopt;
  return (*input())->batch_size();
}

std::optional<ElementSpec> Node::element_spec() const {
  if (!input()) return std::nullopt;
  return (*input())->element_spec();
}

NodePtr Node::over(NodePtr) const { fail(ErrorKind::kInternal, "a source reads no other data set: ", describe()); }

NodePtr rebuild(const NodePtr& node, const std::function<NodePtr(const Node&)>& replacement) {
  if (NodePtr other = replacement(*node)) return other;
  if (!node->input()) return node;
  NodePtr input = rebuild(*node->input(), replacement);
  return input == *node->input() ? node : node->over(std::move(input));
}

}  // namespace belfry::data_internal
