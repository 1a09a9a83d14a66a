#include "export/internal/import/call.h"

#include <ATen/ATen.h>

#include "export/internal/shapes.h"

namespace belfry::internal {
namespace {

[[noreturn]] void refuse_argument(std::string_view name, const char* wanted) {
  refuse_call("argument '", name, "' is not ", wanted, " that is known when the model is exported");
}

const Item kNone;

}  // namespace

const Item& Call::item(std::string_view name) const {
  for (const auto& [argument, item] : traced_.arguments) {
    if (argument == name) return item;
  }
  return kNone;
}

GraphValue Call::value_of(const Item& item, std::string_view name) {
  if (const auto* value = item.get<GraphValue>()) return *value;
  if (const auto* flag = item.get<bool>()) return graph_.scalar(*flag, at::kBool);
  if (const auto* integer = item.get<int64_t>()) return graph_.scalar(*integer, at::kLong);
  if (const auto* number = item.get<double>()) return graph_.scalar(*number, at::kDouble);
  refuse_argument(name, "a tensor or a number");
}

GraphValue Call::tensor(std::string_view name) {
  const auto* value = item(name).get<GraphValue>();
  if (!value) refuse_argument(name, "a tensor");
  return *value;
}

GraphValue Call::optional_tensor(std::string_view name) { return has(name) ? tensor(name) : GraphValue(); }

std::vector<GraphValue> Call::tensors(std::string_view name) {
  std::vector<GraphValue> values = optional_tensors(name);
  for (const GraphValue value : values) {
    if (!value.defined()) refuse_argument(name, "a list of tensors");
  }
  return values;
}

std::vector<GraphValue> Call::optional_tensors(std::string_view name) {
  const auto* list = item(name).get<Item::List>();
  if (!list) refuse_argument(name, "a list of tensors");
  std::vector<GraphValue> values;
  for (const Item& element : *list) values.push_back(element.is_none() ? GraphValue() : value_of(element, name));
  return values;
}

GraphValue Call::operand(std::string_view name, c10::ScalarType dtype) {
  const Item& given = item(name);
  // Not by way of another dtype: an int64 beyond 2^53 or a float constant would lose digits.
  if (const auto* number = given.get<double>()) return graph_.scalar(*number, dtype);
  if (const auto* integer = given.get<int64_t>()) return graph_.scalar(*integer, dtype);
  return graph_.cast(value_of(given, name), dtype);
}

bool Call::flag(std::string_view name) const {
  if (const auto* flag = item(name).get<bool>()) return *flag;
  if (const auto* integer = item(name).get<int64_t>()) return *integer != 0;
  refuse_argument(name, "true or false");
}

bool Call::flag_or(std::string_view name, bool otherwise) const { return has(name) ? flag(name) : otherwise; }

int64_t Call::integer(std::string_view name) const {
  const auto* integer = item(name).get<int64_t>();
  if (!integer) refuse_argument(name, "an integer");
  return *integer;
}

int64_t Call::integer_or(std::string_view name, int64_t otherwise) const {
  return has(name) ? integer(name) : otherwise;
}

double Call::number(std::string_view name) const {
  const Item& given = item(name);
  if (const auto* number = given.get<double>()) return *number;
  if (const auto* integer = given.get<int64_t>()) return static_cast<double>(*integer);
  if (const auto* flag = given.get<bool>()) return *flag ? 1 : 0;
  refuse_argument(name, "a number");
}

double Call::number_or(std::string_view name, double otherwise) const { return has(name) ? number(name) : otherwise; }

std::string Call::text_or(std::string_view name, const std::string& otherwise) const {
  if (!has(name)) return otherwise;
  const auto* text = item(name).get<std::string>();
  if (!text) refuse_argument(name, "text");
  return *text;
}

std::vector<int64_t> Call::integers(std::string_view name) const {
  std::vector<int64_t> numbers;
  for (const Extent& extent : extents(name)) {
    const auto* number = std::get_if<int64_t>(&extent);
    if (!number) refuse_argument(name, "a list of integers");
    numbers.push_back(*number);
  }
  return numbers;
}

std::vector<int64_t> Call::integers(std::string_view name, size_t count, const std::vector<int64_t>& otherwise) const {
  const std::vector<int64_t> given = has(name) ? integers(name) : std::vector<int64_t>();
  if (given.empty()) return otherwise;
  return given.size() == 1 ? std::vector<int64_t>(count, given[0]) : given;
}

Extent Call::extent(std::string_view name) const {
  if (const auto* integer = item(name).get<int64_t>()) return *integer;
  if (const auto* value = item(name).get<GraphValue>()) return *value;
  refuse_argument(name, "an integer or a size");
}

Extents Call::extents(std::string_view name) const {
  const auto* list = item(name).get<Item::List>();
  if (!list) return {extent(name)};
  Extents extents;
  for (const Item& element : *list) {
    if (const auto* integer = element.get<int64_t>()) {
      extents.emplace_back(*integer);
    } else if (const auto* value = element.get<GraphValue>()) {
      extents.emplace_back(*value);
    } else {
      refuse_argument(name, "a list of sizes");
    }
  }
  return extents;
}

int64_t Call::axis(std::string_view name, int64_t rank) const { return positive_axis(integer(name), rank); }

std::vector<int64_t> Call::axes(std::string_view name, int64_t rank) const {
  const std::vector<int64_t> given = has(name) ? integers(name) : std::vector<int64_t>();
  if (!given.empty()) return positive_axes(given, rank);
  std::vector<int64_t> all;
  for (int64_t axis = 0; axis < rank; ++axis) all.push_back(axis);
  return all;
}

GraphType Call::type(size_t output) const {
  const auto& traced = traced_.outputs.at(output).type;
  if (!traced) refuse_call("the trace has no dtype and rank for it");
  return *traced;
}

c10::ScalarType Call::dtype(size_t output) const { return type(output).dtype; }

}  // namespace belfry::internal
