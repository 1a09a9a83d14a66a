// One operation of a traced graph with its arguments, as the import functions see it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "export/graph/graph_builder.h"
#include "export/internal/import/item.h"

namespace belfry::internal {

// What the trace says about one operation.
struct TracedCall {
  std::vector<std::pair<std::string, Item>> arguments;  // by the names of LibTorch's schema
  struct Output {
    std::optional<GraphType> type;  // of a tensor with known dtype and rank
    bool is_tensor;
    bool is_used;
  };
  std::vector<Output> outputs;
};

// Arguments are asked for by the names in LibTorch's schemas, since overloads differ in positions. An argument that the
// overload lacks reads as none, as the default where one is given, and otherwise fails, as one of a wrong kind does,
// with kUnimplemented and the argument's name.
class Call {
 public:
  Call(GraphBuilder& graph, const TracedCall& traced) : graph_(graph), traced_(traced) {}

  GraphBuilder& graph() { return graph_; }
  // The argument is there and is not none.
  bool has(std::string_view name) const { return !item(name).is_none(); }

  GraphValue tensor(std::string_view name);
  GraphValue optional_tensor(std::string_view name);  // undefined for none
  std::vector<GraphValue> tensors(std::string_view name);
  std::vector<GraphValue> optional_tensors(std::string_view name);
  // A tensor or a number, cast.
  GraphValue operand(std::string_view name, c10::ScalarType dtype);

  bool flag(std::string_view name) const;
  bool flag_or(std::string_view name, bool otherwise) const;
  int64_t integer(std::string_view name) const;
  int64_t integer_or(std::string_view name, int64_t otherwise) const;
  double number(std::string_view name) const;
  double number_or(std::string_view name, double otherwise) const;
  std::string text_or(std::string_view name, const std::string& otherwise) const;
  // A lone number is a list of one.
  std::vector<int64_t> integers(std::string_view name) const;
  // `count` of them: one stands for all, none at all for `otherwise`.
  std::vector<int64_t> integers(std::string_view name, size_t count, const std::vector<int64_t>& otherwise) const;
  Extent extent(std::string_view name) const;
  Extents extents(std::string_view name) const;

  // "dim" and the like, as an axis of "self" or "input", not negative.
  int64_t axis(std::string_view name, int64_t rank) const;
  // All axes for none and for an empty list.
  std::vector<int64_t> axes(std::string_view name, int64_t rank) const;

  // What the trace saw. A free shape where it says nothing.
  c10::ScalarType dtype(size_t output = 0) const;
  GraphType type(size_t output = 0) const;
  size_t output_count() const { return traced_.outputs.size(); }
  bool gives_tensor() const { return traced_.outputs.at(0).is_tensor; }
  bool is_used(size_t output) const { return traced_.outputs.at(output).is_used; }

  const Item& item(std::string_view name) const;

 private:
  GraphValue value_of(const Item& item, std::string_view name);

  GraphBuilder& graph_;
  const TracedCall& traced_;
};

// kUnimplemented: what an import function says about arguments that it does not take.
template <class... Parts>
[[noreturn]] void refuse_call(const Parts&... why) {
  fail(ErrorKind::kUnimplemented, why...);
}

}  // namespace belfry::internal
