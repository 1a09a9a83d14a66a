#include "export/internal/import/in_place.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace belfry::internal {
namespace {

using torch::jit::Node;
using torch::jit::Value;

// Operations whose results may be their operands or views of them, though their schemas do not say so.
constexpr std::string_view kViewsInDisguise[] = {
    "aten::dropout", "aten::feature_dropout",   "aten::alpha_dropout", "aten::feature_alpha_dropout",
    "aten::einsum",  "aten::broadcast_tensors", "aten::type_as",       "aten::pad"};

// Which values may share memory. torch::jit's own analysis takes all that was ever in a list for one memory, weights
// and pieces of a split alike, and would refuse every LSTMCell and every attention.
class Memory {
 public:
  explicit Memory(const torch::jit::Graph& graph) {
    for (const Node* node : graph.nodes()) add(*node);
  }

  bool may_share(const Value* a, const Value* b) const { return group(a) == group(b); }

 private:
  void add(const Node& node) {
    const c10::FunctionSchema* schema = node.maybeSchema();
    if (!schema) {  // lists and tuples hold what they are made of
      if (node.kind() != c10::prim::GetAttr) join_all(node);
      return;
    }
    const auto disguised = std::find(std::begin(kViewsInDisguise), std::end(kViewsInDisguise), schema->name());
    if (disguised != std::end(kViewsInDisguise)) return join_all(node);
    for (size_t i = 0; i < schema->arguments().size() && i < node.inputs().size(); ++i) {
      if (!schema->arguments()[i].alias_info()) continue;
      for (size_t o = 0; o < schema->returns().size() && o < node.outputs().size(); ++o) {
        if (schema->returns()[o].alias_info()) join(node.inputs()[i], node.outputs()[o]);
      }
    }
  }

  void join_all(const Node& node) {
    for (const Value* input : node.inputs()) {
      for (const Value* output : node.outputs()) join(input, output);
    }
  }

  void join(const Value* a, const Value* b) {
    const Value* x = group(a);
    const Value* y = group(b);
    if (x != y) parents_[x] = y;
  }

  const Value* group(const Value* value) const {
    for (auto found = parents_.find(value); found != parents_.end(); found = parents_.find(value)) {
      value = found->second;
    }
    return value;
  }

  std::unordered_map<const Value*, const Value*> parents_;
};

// What an operation writes into; null when nothing.
const Value* written_by(const Node& node) {
  const c10::FunctionSchema* schema = node.maybeSchema();
  if (!schema) return nullptr;
  for (size_t i = 0; i < schema->arguments().size() && i < node.inputs().size(); ++i) {
    const auto* alias = schema->arguments()[i].alias_info();
    if (alias && alias->isWrite()) return node.inputs()[i];
  }
  return nullptr;
}

bool is_read_after(const Value* value, const Node* write) {
  return std::any_of(value->uses().begin(), value->uses().end(), [&](const torch::jit::Use& use) {
    return use.user != write && (use.user->kind() == c10::prim::Return || use.user->isAfter(write));
  });
}

// The tensor that a chain of operations in place began with.
const Value* first_of(const Value* value) {
  const Value* written = written_by(*value->node());
  return written ? first_of(written) : value;
}

// Outputs of one chunk, split or unbind share memory but no element.
bool are_apart(const Value* a, const Value* b) {
  const Value* x = first_of(a);
  const Value* y = first_of(b);
  return x != y && x->node() == y->node() && x->node()->kind() == c10::prim::ListUnpack;
}

// The names among `earlier` that show what `write` did to `written`, and are read behind it.
std::vector<const Value*> changed_names(const Node* write, const Value* written,
                                        const std::vector<const Value*>& earlier, const Memory& memory) {
  std::vector<const Value*> changed;
  std::copy_if(earlier.begin(), earlier.end(), std::back_inserter(changed), [&](const Value* other) {
    return memory.may_share(written, other) && !are_apart(written, other) && is_read_after(other, write);
  });
  return changed;
}

}  // namespace

SharedWrites find_shared_writes(const torch::jit::Graph& graph) {
  SharedWrites shared;
  const Memory memory(graph);
  std::vector<const Value*> earlier(graph.inputs().begin() + 1, graph.inputs().end());
  for (const Node* node : graph.nodes()) {
    if (const Value* written = written_by(*node)) {
      std::vector<const Value*> changed = changed_names(node, written, earlier, memory);
      if (!changed.empty()) shared.emplace(node, std::move(changed));
    }
    earlier.insert(earlier.end(), node->outputs().begin(), node->outputs().end());
  }
  return shared;
}

}  // namespace belfry::internal
