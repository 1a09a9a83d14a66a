#include "export/internal/size_recovery.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/error.h"

namespace belfry::internal {
namespace {

namespace jit = torch::jit;

// What a constant of the first graph is in another.
using OtherValues = std::unordered_map<jit::Node*, int64_t>;

bool same_number(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

bool same_tensor(const at::Tensor& a, const at::Tensor& b) {
  if (a.scalar_type() != b.scalar_type() || a.sizes() != b.sizes()) return false;
  return at::isFloatingType(a.scalar_type()) ? at::allclose(a, b, 0, 0, /*equal_nan=*/true) : at::equal(a, b);
}

class Comparison {
 public:
  Comparison(const TracedGraph& a, const TracedGraph& b, const VariableNames& variables)
      : a_(a), b_(b), variables_(variables) {}

  // The integers in which the graphs differ.
  OtherValues run() {
    pair_values(a_.graph->inputs(), b_.graph->inputs());
    compare_blocks(a_.graph->block(), b_.graph->block());
    return std::move(others_);
  }

 private:
  template <class... Parts>
  [[noreturn]] void refuse(const jit::Node* where, const Parts&... reason) const {
    fail(ErrorKind::kUnimplemented, "export: the model cannot be traced for any number of rows at ",
         node_text(where, variables_), ": ", reason...);
  }

  void pair_values(at::ArrayRef<jit::Value*> a, at::ArrayRef<jit::Value*> b) {
    for (size_t i = 0; i < a.size(); ++i) {
      pairs_[a[i]] = b[i];
      forget_sizes(a[i], b[i]);
    }
  }

  // Keeps dtype, rank and the sizes that both agree on.
  static void forget_sizes(jit::Value* a, const jit::Value* b) {
    const auto x = a->type()->cast<c10::TensorType>();
    const auto y = b->type()->cast<c10::TensorType>();
    if (!x || !y) return;
    const c10::VaryingShape<int64_t> sizes = x->sizes();  // some are forgotten already, by another comparison
    const c10::VaryingShape<int64_t> others = y->sizes();
    if (!sizes.size() || !others.size() || *sizes.size() != *others.size()) {
      a->setType(c10::TensorType::get());
      return;
    }
    std::vector<std::optional<int64_t>> kept(*sizes.size());
    for (size_t d = 0; d < kept.size(); ++d) {
      if (sizes[d] == others[d]) kept[d] = sizes[d];
    }
    const c10::VaryingShape<c10::Stride> strides(kept.size());
    a->setType(c10::TensorType::create(x->scalarType(), x->device(), c10::SymbolicShape(kept), strides, false));
  }

  void compare_blocks(jit::Block* a, jit::Block* b) {
    auto x = a->nodes().begin();
    auto y = b->nodes().begin();
    for (; x != a->nodes().end() && y != b->nodes().end(); ++x, ++y) compare_nodes(*x, *y);
    if (x != a->nodes().end()) refuse_structure(*x, b->return_node());
    if (y != b->nodes().end()) refuse_structure(a->return_node(), *y);
    compare_inputs(a->return_node(), b->return_node());
  }

  [[noreturn]] void refuse_structure(const jit::Node* a, const jit::Node* b) const {
    refuse(
        a->kind() == c10::prim::Return ? b : a, "with ", to_string(a_.sizes), " it runs ", operation(a), " and with ",
        to_string(b_.sizes), " of other data ", operation(b),
        "; it branches on values of tensors or on sizes, or loops over the rows or the length (the loop is unrolled)");
  }

  static std::string operation(const jit::Node* node) {
    return node->kind() == c10::prim::Return ? "nothing more" : node->kind().toQualString();
  }

  void compare_nodes(jit::Node* a, jit::Node* b) {
    const bool alike = a->kind() == b->kind() && a->inputs().size() == b->inputs().size() &&
                       a->outputs().size() == b->outputs().size() && a->blocks().size() == b->blocks().size();
    if (!alike) refuse_structure(a, b);
    compare_inputs(a, b);
    if (a->kind() == c10::prim::Constant) {
      compare_constants(a, b);
    } else {
      compare_attributes(a, b);
    }
    for (size_t i = 0; i < a->blocks().size(); ++i) {
      pair_values(a->blocks()[i]->inputs(), b->blocks()[i]->inputs());
      compare_blocks(a->blocks()[i], b->blocks()[i]);
    }
    pair_values(a->outputs(), b->outputs());
  }

  void compare_inputs(const jit::Node* a, const jit::Node* b) const {
    for (size_t i = 0; i < a->inputs().size(); ++i) {
      if (pairs_.at(a->inputs()[i]) == b->inputs()[i]) continue;
      refuse(a, "input ", i, " comes from ", operation(a->inputs()[i]->node()), " with ", to_string(a_.sizes),
             " and from ", operation(b->inputs()[i]->node()), " with ", to_string(b_.sizes),
             " of other data; it branches on values of tensors");
    }
  }

  void compare_attributes(const jit::Node* a, const jit::Node* b) const {
    for (const c10::Symbol name : a->attributeNames()) {
      const bool alike = b->hasAttribute(name) && a->kindOf(name) == b->kindOf(name) && same_attribute(a, b, name);
      if (!alike) refuse(a, "its attribute ", name.toUnqualString(), " depends on the number of rows or on the data");
    }
  }

  static bool same_attribute(const jit::Node* a, const jit::Node* b, c10::Symbol name) {
    switch (a->kindOf(name)) {
      case jit::AttributeKind::i:
        return a->i(name) == b->i(name);
      case jit::AttributeKind::f:
        return same_number(a->f(name), b->f(name));
      case jit::AttributeKind::s:
        return a->s(name) == b->s(name);
      case jit::AttributeKind::is:
        return a->is(name) == b->is(name);
      case jit::AttributeKind::t:
        return same_tensor(a->t(name), b->t(name));
      case jit::AttributeKind::ty:
        return *a->ty(name) == *b->ty(name);
      case jit::AttributeKind::ival:
        return a->ival(name).equals(b->ival(name)).toBool();
      default:
        return true;  // kinds that the tracer does not make; replay would show a difference
    }
  }

  void compare_constants(jit::Node* a, const jit::Node* b) {
    const c10::Symbol value = c10::attr::value;
    const jit::Node* user = first_user(a->output());
    const jit::Node* where = user ? user : a;
    if (a->hasAttribute(value) != b->hasAttribute(value)) refuse(where, "a constant is none in one trace alone");
    if (!a->hasAttribute(value)) return;
    if (a->kindOf(value) != b->kindOf(value)) refuse_structure(a, b);
    if (same_attribute(a, b, value)) return;
    if (a->kindOf(value) == jit::AttributeKind::i && a->output()->type()->kind() == c10::TypeKind::IntType) {
      others_[a] = b->i(value);
    } else {
      refuse_constant(a, b, where);
    }
  }

  [[noreturn]] void refuse_constant(const jit::Node* a, const jit::Node* b, const jit::Node* where) const {
    const c10::Symbol value = c10::attr::value;
    if (a->kindOf(value) == jit::AttributeKind::f) {
      refuse(where, "the number ", a->f(value), " with ", to_string(a_.sizes), " is ", b->f(value), " with ",
             to_string(b_.sizes),
             " of other data; it was read from a tensor (item()), or computed from the rows or the length (such as 1.0 "
             "/ x.size(0):",
             " divide the tensor by x.size(0) instead)");
    }
    if (a->kindOf(value) == jit::AttributeKind::t) {
      refuse(where, "a constant tensor ", a->t(value).sizes(), " with ", to_string(a_.sizes), " is ",
             b->t(value).sizes(), " with ", to_string(b_.sizes),
             ", or has other values; it is made from host data, which a trace cannot follow");
    }
    refuse(where, "a constant depends on the number of rows, the length or the data");
  }

  const TracedGraph& a_;
  const TracedGraph& b_;
  const VariableNames& variables_;
  std::unordered_map<const jit::Value*, const jit::Value*> pairs_;
  OtherValues others_;
};

// constant = offset + rows * (number of rows) + length * (length of a row) + both * (their product)
struct SizeExpression {
  int64_t rows = 0;
  int64_t length = 0;
  int64_t both = 0;
  int64_t offset = 0;
};

// Of the constant's value in each trace; nothing when no whole numbers fit.
std::optional<SizeExpression> solve(const std::vector<TracedGraph>& traces, const std::vector<int64_t>& values) {
  const FreeSizes& first = traces[0].sizes;
  const int64_t more_rows = traces[1].sizes.rows - first.rows;
  int64_t by_rows = values[1] - values[0];
  SizeExpression expression;
  if (traces.size() > 2) {
    const int64_t more_length = traces[2].sizes.length - first.length;
    const int64_t mixed = values[3] - values[2] - by_rows;
    int64_t by_length = values[2] - values[0];
    if (mixed % (more_rows * more_length) != 0) return std::nullopt;
    expression.both = mixed / (more_rows * more_length);
    by_length -= expression.both * first.rows * more_length;
    by_rows -= expression.both * first.length * more_rows;
    if (by_length % more_length != 0) return std::nullopt;
    expression.length = by_length / more_length;
  }
  if (by_rows % more_rows != 0) return std::nullopt;
  expression.rows = by_rows / more_rows;
  expression.offset = values[0] - expression.rows * first.rows - expression.length * first.length -
                      expression.both * first.rows * first.length;
  return expression;
}

[[noreturn]] void refuse_numbers(const jit::Node* constant, const std::vector<TracedGraph>& traces,
                                 const std::vector<int64_t>& values, const VariableNames& variables) {
  std::string numbers;
  for (size_t i = 0; i < traces.size(); ++i) {
    numbers += concat(i == 0 ? "" : " and ", values[i], " with ", to_string(traces[i].sizes));
  }
  const jit::Node* user = first_user(constant->output());
  fail(ErrorKind::kUnimplemented, "export: the model cannot be traced for any number of rows at ",
       node_text(user ? user : constant, variables), ": the number ", numbers,
       " is no multiple of the rows plus a constant; it may have been read from a tensor (item())");
}

// The sizes of the features as values of a graph.
class SizeValues {
 public:
  SizeValues(jit::Graph& graph, const std::vector<ServingInput>& inputs) : graph_(graph) {
    graph.setInsertPoint(*graph.nodes().begin());
    rows_ = graph.insert(c10::aten::size, {graph.inputs()[1], 0});
    for (size_t i = 0; i < inputs.size() && !length_; ++i) {
      const auto& shape = inputs[i].spec.shape;
      const auto found = std::find(shape.begin() + 1, shape.end(), kFreeSize);
      if (found == shape.end()) continue;
      length_ = graph.insert(c10::aten::size, {graph.inputs()[i + 1], static_cast<int64_t>(found - shape.begin())});
    }
  }

  // In front of where it is read.
  jit::Value* insert(const SizeExpression& expression) {
    jit::Value* sum = nullptr;
    add(sum, rows_, expression.rows);
    if (expression.length != 0) add(sum, length_, expression.length);
    if (expression.both != 0) add(sum, graph_.insert(c10::aten::mul, {rows_, length_}), expression.both);
    if (expression.offset != 0) sum = graph_.insert(c10::aten::add, {sum, expression.offset});
    return sum;
  }

 private:
  void add(jit::Value*& sum, jit::Value* size, int64_t factor) {
    if (factor == 0) return;
    jit::Value* term = factor == 1 ? size : graph_.insert(c10::aten::mul, {size, factor});
    sum = sum ? graph_.insert(c10::aten::add, {sum, term}) : term;
  }

  jit::Graph& graph_;
  jit::Value* rows_ = nullptr;
  jit::Value* length_ = nullptr;
};

// In the order of the graph, so that the same model gives the same graph.
std::vector<jit::Node*> differing_constants(jit::Block* block, const std::vector<OtherValues>& others) {
  std::vector<jit::Node*> constants;
  for (jit::Node* node : block->nodes()) {
    const auto differs = [node](const OtherValues& values) { return values.contains(node); };
    if (std::any_of(others.begin(), others.end(), differs)) constants.push_back(node);
    for (jit::Block* inner : node->blocks()) {
      const auto more = differing_constants(inner, others);
      constants.insert(constants.end(), more.begin(), more.end());
    }
  }
  return constants;
}

}  // namespace

void recover_sizes(const std::vector<TracedGraph>& traces, const std::vector<ServingInput>& inputs,
                   const VariableNames& variables) {
  jit::Graph& graph = *traces[0].graph;
  std::vector<OtherValues> others;
  for (size_t i = 1; i < traces.size(); ++i) others.push_back(Comparison(traces[0], traces[i], variables).run());
  const std::vector<jit::Node*> constants = differing_constants(graph.block(), others);
  if (constants.empty()) return;
  SizeValues sizes(graph, inputs);
  for (jit::Node* constant : constants) {
    std::vector<int64_t> values{constant->i(c10::attr::value)};
    for (const OtherValues& other : others) values.push_back(other.contains(constant) ? other.at(constant) : values[0]);
    const auto expression = solve(traces, values);
    if (!expression) refuse_numbers(constant, traces, values, variables);
    const jit::WithInsertPoint guard(constant);
    constant->output()->replaceAllUsesWith(sizes.insert(*expression));
  }
  graph.setInsertPoint(graph.block());
}

}  // namespace belfry::internal
