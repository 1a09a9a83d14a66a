#include "export/internal/graph_checks.h"

#include <torch/csrc/jit/ir/alias_analysis.h>
#include <torch/csrc/jit/ir/constants.h>

#include <functional>
#include <string_view>

#include "core/error.h"

namespace belfry::internal {
namespace {

namespace jit = torch::jit;

void for_each_node(jit::Block* block, const std::function<void(jit::Node*)>& visit) {
  for (jit::Node* node : block->nodes()) {
    visit(node);
    for (jit::Block* inner : node->blocks()) for_each_node(inner, visit);
  }
}

bool is_none(const jit::Value* value) { return value->type()->kind() == c10::TypeKind::NoneType; }

bool is_true(const jit::Value* value) {
  const jit::Node* node = value->node();
  return node->kind() == c10::prim::Constant && value->type()->kind() == c10::TypeKind::BoolType &&
         node->i(c10::attr::value) != 0;
}

// Position of the schema's argument of one of these names, or -1.
int argument(const c10::FunctionSchema& schema, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const auto index = schema.argumentIndexWithName(name);
    if (index) return *index;
  }
  return -1;
}

// Batch norm without running statistics computes with those of the batch in every mode.
bool has_no_statistics(const jit::Node* node, const c10::FunctionSchema& schema) {
  const int mean = argument(schema, {"running_mean"});
  return mean >= 0 && is_none(node->inputs()[mean]);
}

bool in_training(const jit::Node* node) {
  const c10::FunctionSchema* schema = node->maybeSchema();
  if (!schema) return false;
  const int flag = argument(*schema, {"training", "train"});
  return flag >= 0 && is_true(node->inputs()[flag]) && !has_no_statistics(node, *schema);
}

// Attention is random by its dropout alone.
bool drops_nothing(const jit::Node* node, const c10::FunctionSchema& schema) {
  const int dropout = argument(schema, {"dropout_p"});
  if (dropout < 0) return false;
  const auto probability = jit::toIValue(node->inputs()[dropout]);
  return probability && probability->isDouble() && probability->toDouble() == 0;
}

bool draws_random_numbers(const jit::Node* node) {
  const c10::FunctionSchema* schema = node->maybeSchema();
  if (!schema || drops_nothing(node, *schema)) return false;
  if (argument(*schema, {"training", "train"}) >= 0) return false;  // random in training alone
  return node->isNondeterministic() || argument(*schema, {"generator"}) >= 0 ||
         schema->name().starts_with("aten::rand");
}

void append(std::string& list, const std::string& item) { list += (list.empty() ? "" : "; ") + item; }

}  // namespace

void refuse_training_and_random(jit::Graph& graph, const VariableNames& variables) {
  std::string training;
  std::string random;
  for_each_node(graph.block(), [&](jit::Node* node) {
    if (in_training(node)) append(training, node_text(node, variables));
    if (draws_random_numbers(node)) append(random, node_text(node, variables));
  });
  if (!training.empty()) {
    fail(ErrorKind::kFailedPrecondition, "export: modules are in training mode (call eval()): ", training);
  }
  if (!random.empty()) {
    fail(ErrorKind::kFailedPrecondition,
         "export: the model draws random numbers in PREDICT, which no export can repeat: ", random);
  }
}

void refuse_unset_memory(const std::shared_ptr<jit::Graph>& graph, const VariableNames& variables) {
  const jit::AliasDb aliases(graph);
  std::string unset;
  for_each_node(graph->block(), [&](jit::Node* node) {
    const c10::FunctionSchema* schema = node->maybeSchema();
    if (!schema || !schema->name().starts_with("aten::empty") || !node->hasUses()) return;
    if (!aliases.hasWriters(node->output())) append(unset, node_text(node, variables));
  });
  if (unset.empty()) return;
  fail(ErrorKind::kUnimplemented, "export: a tensor is made and never filled, as far as a trace sees: ", unset,
       ". at::tensor fills its memory past the trace: use torch::tensor, or make the tensor outside of the model_fn");
}

std::vector<std::string> list_writes(jit::Graph& graph, const VariableNames& variables) {
  std::vector<std::string> writes;
  for_each_node(graph.block(), [&](jit::Node* node) {
    const c10::FunctionSchema* schema = node->maybeSchema();
    if (schema && schema->is_mutable()) writes.push_back(node_text(node, variables));
  });
  return writes;
}

}  // namespace belfry::internal
