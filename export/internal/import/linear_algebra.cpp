// Products of matrices.
#include <cctype>
#include <map>

#include "export/internal/import/import_table.h"

namespace belfry::internal {
namespace {

// The matrix that was transposed to make `b`; undefined when that is not what made it.
GraphValue untransposed(GraphBuilder& graph, GraphValue b) {
  const GraphNode& producer = graph.graph().producer(b);
  const bool transposed = producer.operation == Operation::kTranspose && graph.rank(b) == 2;
  return transposed ? producer.inputs[0] : GraphValue();
}

// Vectors become matrices of one row or column, whose axis the result loses again.
GraphValue product(GraphBuilder& graph, GraphValue a, GraphValue b) {
  const bool row = graph.rank(a) == 1;
  const bool column = graph.rank(b) == 1;
  const GraphValue weight = untransposed(graph, b);
  if (weight.defined() && !row) return graph.linear(a, weight);
  GraphValue result = graph.matmul(row ? graph.unsqueeze(a, 0) : a, column ? graph.unsqueeze(b, 1) : b);
  if (column) result = graph.squeeze(result, {-1});
  if (row) result = graph.squeeze(result, {column ? -1 : -2});
  return result;
}

Item matmul(Call& call) {
  for (const char* second : {"mat2", "vec", "tensor"}) {
    if (call.has(second)) return product(call.graph(), call.tensor("self"), call.tensor(second));
  }
  return product(call.graph(), call.tensor("self"), call.tensor("other"));
}

// One for each row of the weight, and not one for all.
bool is_bias(GraphBuilder& graph, GraphValue bias, GraphValue weight) {
  return graph.rank(bias) == 1 && graph.type(bias).shape[0] == graph.type(weight).shape[0];
}

Item linear(Call& call) {
  GraphBuilder& graph = call.graph();
  const GraphValue weight = call.tensor("weight");
  const GraphValue bias = call.optional_tensor("bias");
  if (graph.rank(weight) != 2) refuse_call("its weight is no matrix");
  if (!bias.defined() || is_bias(graph, bias, weight)) return graph.linear(call.tensor("input"), weight, bias);
  return graph.binary(Operation::kAdd, graph.linear(call.tensor("input"), weight), bias);
}

bool is_one(const Call& call, std::string_view factor) { return call.number_or(factor, 1) == 1; }

GraphValue scaled(Call& call, GraphValue x, std::string_view factor) {
  if (is_one(call, factor)) return x;
  return call.graph().binary(Operation::kMultiply, x, call.operand(factor, call.dtype()));
}

// beta * self + alpha * (first @ second)
Item add_product(Call& call, std::string_view first, std::string_view second) {
  const GraphValue term = scaled(call, product(call.graph(), call.tensor(first), call.tensor(second)), "alpha");
  if (call.number_or("beta", 1) == 0) return term;  // whatever self is, NaN too
  return call.graph().binary(Operation::kAdd, scaled(call, call.tensor("self"), "beta"), term);
}

// What a dense layer is traced as: addmm(bias, x, weight.t()).
Item addmm(Call& call) {
  const GraphValue weight = untransposed(call.graph(), call.tensor("mat2"));
  const bool plain = is_one(call, "beta") && is_one(call, "alpha");
  if (weight.defined() && plain && is_bias(call.graph(), call.tensor("self"), weight)) {
    return call.graph().linear(call.tensor("mat1"), weight, call.tensor("self"));
  }
  return add_product(call, "mat1", "mat2");
}
Item addmv(Call& call) { return add_product(call, "mat", "vec"); }
Item baddbmm(Call& call) { return add_product(call, "batch1", "batch2"); }

GraphValue einsum_of(Call& call, const std::vector<GraphValue>& operands, const std::string& equation) {
  return call.graph().node(Operation::kEinsum, operands, {{"equation", equation}}, {call.type()})[0];
}

// Without an arrow the result has the letters that come once, in their order.
std::string with_result(std::string equation) {
  std::erase(equation, ' ');
  if (equation.find("->") != std::string::npos) return equation;
  std::map<char, int> counts;
  for (const char c : equation) {
    if (std::isalpha(static_cast<unsigned char>(c))) ++counts[c];
  }
  std::string result = equation.find("...") == std::string::npos ? "" : "...";
  for (const auto& [letter, count] : counts) {
    if (count == 1) result += letter;
  }
  return equation + "->" + result;
}

Item einsum(Call& call) {
  const std::string equation = with_result(call.text_or("equation", ""));
  const auto operands = call.tensors("tensors");
  if (operands.size() > 2) refuse_call("it has ", operands.size(), " operands");
  return einsum_of(call, operands, equation);
}

// y[..., o] = a[..., i] * w[o, i, j] * b[..., j]
Item bilinear(Call& call) {
  GraphBuilder& graph = call.graph();
  const GraphValue a = call.tensor("input1");
  const GraphValue b = call.tensor("input2");
  const GraphValue weight = call.tensor("weight");
  if (graph.rank(a) != 2) refuse_call("its operands have rank ", graph.rank(a));
  const std::vector<int64_t> shape = graph.type(weight).shape;
  const GraphValue flat = graph.reshape(weight, {shape[0] * shape[1], shape[2]});
  // [n, o * i] = b @ flat^T, then the sum over i with a.
  const GraphValue rows = graph.reshape(graph.linear(b, flat), {graph.size(b, 0), shape[0], shape[1]});
  const GraphValue products = graph.binary(Operation::kMultiply, rows, graph.unsqueeze(a, 1));
  const GraphValue result = graph.reduce(Operation::kSum, products, {2});
  return call.has("bias") ? graph.binary(Operation::kAdd, result, call.tensor("bias")) : result;
}

Item vecdot(Call& call) {
  GraphBuilder& graph = call.graph();
  const GraphValue products =
      graph.binary(Operation::kMultiply, call.operand("x", call.dtype()), call.operand("y", call.dtype()));
  return graph.reduce(Operation::kSum, products, {call.axis("dim", graph.rank(products))});
}

// Every element of one vector with every one of the other.
Item outer(Call& call) {
  GraphBuilder& graph = call.graph();
  const GraphValue column = graph.unsqueeze(call.operand("self", call.dtype()), 1);
  return graph.binary(Operation::kMultiply, column, call.operand("vec2", call.dtype()));
}

}  // namespace

void add_linear_algebra(ImportTable& table) {
  table.insert({{"linear", linear},
                {"matmul", matmul},
                {"mm", matmul},
                {"bmm", matmul},
                {"mv", matmul},
                {"dot", matmul},
                {"linalg_matmul", matmul},
                {"linalg_vecdot", vecdot},
                {"outer", outer},
                {"ger", outer},
                {"addmm", addmm},
                {"addmv", addmv},
                {"baddbmm", baddbmm},
                {"einsum", einsum},
                {"bilinear", bilinear}});
}

}  // namespace belfry::internal
