#include "export/internal/batch_recovery.h"

#include <ATen/ATen.h>

#include <cmath>
#include <unordered_map>
#include <vector>

#include "core/error.h"

namespace belfry::internal {
namespace {

namespace jit = torch::jit;

// constant = slope * rows + offset
struct RowsExpression {
  jit::Node* constant;
  int64_t slope;
  int64_t offset;
};

bool same_number(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

bool same_tensor(const at::Tensor& a, const at::Tensor& b) {
  if (a.scalar_type() != b.scalar_type() || a.sizes() != b.sizes()) return false;
  return at::isFloatingType(a.scalar_type()) ? at::allclose(a, b, 0, 0, /*equal_nan=*/true) : at::equal(a, b);
}

class Comparison {
 public:
  Comparison(const TracedGraph& a, const TracedGraph& b, const VariableNames& variables)
      : a_(a), b_(b), variables_(variables) {}

  std::vector<RowsExpression> run() {
    pair_values(a_.graph->inputs(), b_.graph->inputs());
    compare_blocks(a_.graph->block(), b_.graph->block());
    return std::move(expressions_);
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
    const auto sizes = x->sizes().concrete_sizes();
    const auto others = y->sizes().concrete_sizes();
    if (!sizes || !others || sizes->size() != others->size()) {
      a->setType(c10::TensorType::get());
      return;
    }
    std::vector<std::optional<int64_t>> kept(sizes->begin(), sizes->end());
    for (size_t d = 0; d < kept.size(); ++d) {
      if ((*sizes)[d] != (*others)[d]) kept[d] = std::nullopt;
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
    refuse(a->kind() == c10::prim::Return ? b : a, "with ", a_.rows, " rows it runs ", operation(a), " and with ",
           b_.rows, " rows of other data ", operation(b),
           "; it branches on values of tensors, or loops over the rows (the loop is unrolled)");
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
      refuse(a, "input ", i, " comes from ", operation(a->inputs()[i]->node()), " with ", a_.rows, " rows and from ",
             operation(b->inputs()[i]->node()), " with ", b_.rows,
             " rows of other data; it branches on values of tensors");
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
    if (a->kindOf(value) != b->kindOf(value)) refuse(where, "a constant changes its type between two traces");
    if (same_attribute(a, b, value)) return;
    if (a->kindOf(value) == jit::AttributeKind::i && a->output()->type()->kind() == c10::TypeKind::IntType) {
      solve(a, b, where);
    } else {
      refuse_constant(a, b, where);
    }
  }

  void solve(jit::Node* a, const jit::Node* b, const jit::Node* where) {
    const int64_t x = a->i(c10::attr::value);
    const int64_t y = b->i(c10::attr::value);
    const int64_t rows = b_.rows - a_.rows;
    if ((y - x) % rows != 0) {
      refuse(where, "the number ", x, " with ", a_.rows, " rows and ", y, " with ", b_.rows,
             " rows is no multiple of the rows plus a constant; it may have been read from a tensor (item())");
    }
    const int64_t slope = (y - x) / rows;
    expressions_.push_back({a, slope, x - slope * a_.rows});
  }

  [[noreturn]] void refuse_constant(const jit::Node* a, const jit::Node* b, const jit::Node* where) const {
    const c10::Symbol value = c10::attr::value;
    if (a->kindOf(value) == jit::AttributeKind::f) {
      refuse(
          where, "the number ", a->f(value), " with ", a_.rows, " rows is ", b->f(value), " with ", b_.rows,
          " rows of other data; it was read from a tensor (item()) or computed from the row count (such as 1.0 / rows:",
          " divide the tensor by rows instead)");
    }
    if (a->kindOf(value) == jit::AttributeKind::t) {
      refuse(where, "a constant tensor ", a->t(value).sizes(), " with ", a_.rows, " rows is ", b->t(value).sizes(),
             " with ", b_.rows, " rows, or has other values; it is made from host data, which a trace cannot follow");
    }
    refuse(where, "a constant depends on the number of rows or on the data");
  }

  const TracedGraph& a_;
  const TracedGraph& b_;
  const VariableNames& variables_;
  std::unordered_map<const jit::Value*, const jit::Value*> pairs_;
  std::vector<RowsExpression> expressions_;
};

}  // namespace

void recover_batch(const TracedGraph& a, const TracedGraph& b, const VariableNames& variables) {
  const std::vector<RowsExpression> expressions = Comparison(a, b, variables).run();
  if (expressions.empty()) return;
  jit::Graph& graph = *a.graph;
  graph.setInsertPoint(*graph.nodes().begin());
  jit::Value* rows = graph.insert(c10::aten::size, {graph.inputs()[1], 0});
  for (const auto& [constant, slope, offset] : expressions) {
    const jit::WithInsertPoint guard(constant);
    jit::Value* number = rows;
    if (slope != 1) number = graph.insert(c10::aten::mul, {number, slope});
    if (offset != 0) number = graph.insert(c10::aten::add, {number, offset});
    constant->output()->replaceAllUsesWith(number);
  }
  graph.setInsertPoint(graph.block());
}

}  // namespace belfry::internal
