// Ordered names to tensors and string tensors: features, labels, predictions.
#pragma once

#include <ATen/core/Tensor.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "string_tensor.h"

namespace belfry {

// One entry of a TensorDict: a tensor of numbers or a tensor of strings.
class Value {
 public:
  Value(at::Tensor tensor) : value_(std::move(tensor)) {}      // NOLINT(google-explicit-constructor)
  Value(StringTensor strings) : value_(std::move(strings)) {}  // NOLINT(google-explicit-constructor)

  bool is_tensor() const { return std::holds_alternative<at::Tensor>(value_); }
  bool is_strings() const { return !is_tensor(); }
  // kInvalidArgument when the entry is of the other kind.
  const at::Tensor& tensor() const;
  const StringTensor& strings() const;

  std::vector<int64_t> sizes() const;
  int64_t dim() const {
    return is_tensor() ? std::get<at::Tensor>(value_).dim() : std::get<StringTensor>(value_).dim();
  }
  // Size of dimension 0; kInvalidArgument for a scalar.
  int64_t rows() const;
  // Rows [start, start + length) of dimension 0, sharing memory.
  Value narrow(int64_t start, int64_t length) const;

 private:
  std::variant<at::Tensor, StringTensor> value_;
};

// A small ordered map, kept in the order of insertion. A lone tensor needs no name: its name is empty. Copies share the
// tensors' memory. Threads may read one object at the same time.
class TensorDict {
 public:
  using Entry = std::pair<std::string, Value>;
  using const_iterator = std::vector<Entry>::const_iterator;

  TensorDict() = default;
  TensorDict(at::Tensor tensor) { set("", std::move(tensor)); }      // NOLINT(google-explicit-constructor)
  TensorDict(StringTensor strings) { set("", std::move(strings)); }  // NOLINT(google-explicit-constructor)
  // kAlreadyExists when a name comes twice.
  TensorDict(std::initializer_list<Entry> entries);

  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }
  const_iterator begin() const { return entries_.begin(); }
  const_iterator end() const { return entries_.end(); }
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  // Null when there is no such entry; valid until the dict changes.
  const Value* find(std::string_view name) const;

  // The entry of that name. kNotFound, with the names there are, when there is none.
  const Value& at(std::string_view name) const;
  // at(name).tensor(), so kInvalidArgument for strings.
  const at::Tensor& operator[](std::string_view name) const;
  const StringTensor& strings(std::string_view name) const;

  // The only entry, whatever its name. kInvalidArgument, with the names, when there are none or several.
  const Value& only() const;
  const at::Tensor& tensor() const { return only().tensor(); }

  // Replaces the entry of that name, or appends one.
  void set(std::string name, Value value);
  // A dict inside a dict: its entries become NAME/entry here, so that whatever goes through entries (splitting,
  // batching, files) goes through it too. Replaces what was there under NAME. A dict without entries leaves no trace.
  // kInvalidArgument for an empty name.
  void set_nested(const std::string& name, const TensorDict& inner);
  // The entries below NAME/, without that. kNotFound, with the names there are, when there are none.
  TensorDict nested(std::string_view name) const;
  // True when there was one.
  bool erase(std::string_view name);
  std::vector<std::string> names() const;

  // Size of dimension 0, on which all entries have to agree: kInvalidArgument names two that differ, and for a dict
  // without entries.
  int64_t rows() const;
  // Every entry's rows [start, start + length), sharing memory.
  TensorDict narrow(int64_t start, int64_t length) const;

 private:
  std::vector<Entry> entries_;
};

using Features = TensorDict;
using Labels = TensorDict;
using Predictions = TensorDict;

// Entry by entry along dimension 0. kInvalidArgument for no parts, and where names, kinds or row shapes differ.
TensorDict cat(const std::vector<TensorDict>& parts);

}  // namespace belfry
