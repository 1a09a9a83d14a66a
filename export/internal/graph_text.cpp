#include "export/internal/graph_text.h"

#include "core/error.h"

namespace belfry::internal {
namespace {

using torch::jit::Node;

std::string variable_read_by(const Node* node, const VariableNames& variables) {
  for (const torch::jit::Value* input : node->inputs()) {
    if (input->node()->kind() != c10::prim::GetAttr) continue;
    const auto found = variables.find(input->node()->s(c10::attr::name));
    if (found != variables.end()) return found->second;
  }
  return "";
}

}  // namespace

// Outward from the node in both directions, so that the closest one wins.
std::string nearest_variable(const Node* node, const VariableNames& variables) {
  const Node* before = node;
  const Node* after = node;
  while (before || after) {
    for (const Node* candidate : {before, after}) {
      if (!candidate) continue;
      std::string name = variable_read_by(candidate, variables);
      if (!name.empty()) return name;
    }
    if (before) before = before->prev()->kind() == c10::prim::Param ? nullptr : before->prev();
    if (after) after = after->next()->kind() == c10::prim::Return ? nullptr : after->next();
  }
  return "";
}

std::string node_text(const Node* node, const VariableNames& variables) {
  const std::string variable = nearest_variable(node, variables);
  return concat(node->kind().toQualString(), variable.empty() ? "" : ", near variable '" + variable + "'");
}

const Node* first_user(const torch::jit::Value* value) {
  while (value->hasUses()) {
    const Node* user = value->uses()[0].user;
    if (user->kind() != c10::prim::ListConstruct) return user;
    value = user->output();
  }
  return nullptr;
}

}  // namespace belfry::internal
