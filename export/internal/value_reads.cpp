#include "export/internal/value_reads.h"

#include <torch/csrc/jit/frontend/tracer.h>

#include <algorithm>
#include <array>
#include <unordered_set>
#include <vector>

namespace belfry::internal {
namespace {

namespace jit = torch::jit;

thread_local ValueReads* reads_of_thread = nullptr;

// Not at::equal(), which LibTorch's attention asks of its own operands.
bool hands_out_values(std::string_view operation) {
  static constexpr std::array<std::string_view, 3> kNames{"aten::item", "aten::_local_scalar_dense",
                                                          "aten::is_nonzero"};
  return std::find(kNames.begin(), kNames.end(), operation) != kNames.end();
}

// The graph's first input is the module with the variables.
bool is_of_feature(const jit::Graph& graph, const jit::Value* value) {
  std::unordered_set<const jit::Value*> seen;
  std::vector<const jit::Value*> open{value};
  while (!open.empty()) {
    const jit::Value* next = open.back();
    open.pop_back();
    if (!seen.insert(next).second) continue;
    if (next->node()->kind() == c10::prim::Param && next != graph.inputs()[0]) return true;
    for (const jit::Value* input : next->node()->inputs()) open.push_back(input);
  }
  return false;
}

}  // namespace

ValueReads::ValueReads(const VariableNames& names) : names_(names) {
  reads_of_thread = this;
  handle_ = at::addThreadLocalCallback(
      at::RecordFunctionCallback(note).needsInputs(true).scopes({at::RecordScope::FUNCTION}));
}

ValueReads::~ValueReads() {
  at::removeCallback(handle_);
  reads_of_thread = nullptr;
}

std::unique_ptr<at::ObserverContext> ValueReads::note(const at::RecordFunction& call) {
  const auto state = jit::tracer::getTracingState();
  if (!state || !reads_of_thread || !hands_out_values(call.name())) return nullptr;
  for (const c10::IValue& input : call.inputs()) {
    if (!input.isTensor() || !state->hasValue(input)) continue;
    const jit::Value* value = state->getValue(input);
    if (!is_of_feature(*state->graph, value)) continue;
    reads_of_thread->places_.insert(node_text(value->node(), reads_of_thread->names_));
  }
  return nullptr;
}

}  // namespace belfry::internal
