#include "core/tensor_dict.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "core/error.h"

namespace belfry {
namespace {

std::string quoted_names(const TensorDict& dict) {
  if (dict.empty()) return "nothing";
  std::string text;
  for (const auto& [name, value] : dict) text += (text.empty() ? "'" : ", '") + name + "'";
  return text;
}

}  // namespace

const at::Tensor& Value::tensor() const {
  require(is_tensor(), "a tensor of numbers was wanted where strings are");
  return std::get<at::Tensor>(value_);
}

const StringTensor& Value::strings() const {
  require(is_strings(), "strings were wanted where a tensor of numbers is");
  return std::get<StringTensor>(value_);
}

std::vector<int64_t> Value::sizes() const { return is_tensor() ? tensor().sizes().vec() : strings().sizes(); }

int64_t Value::rows() const {
  require(dim() > 0, "a scalar has no rows: dimension 0 of a feature or label is the batch");
  return is_tensor() ? std::get<at::Tensor>(value_).size(0) : std::get<StringTensor>(value_).size(0);
}

Value Value::narrow(int64_t start, int64_t length) const {
  if (is_strings()) return strings().narrow(start, length);
  return tensor().narrow(0, start, length);
}

TensorDict::TensorDict(std::initializer_list<Entry> entries) {
  for (const Entry& entry : entries) {
    if (contains(entry.first)) fail(ErrorKind::kAlreadyExists, "TensorDict: the name '", entry.first, "' comes twice");
    entries_.push_back(entry);
  }
}

const Value* TensorDict::find(std::string_view name) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.first == name; });
  return found == entries_.end() ? nullptr : &found->second;
}

const Value& TensorDict::at(std::string_view name) const {
  const Value* value = find(name);
  if (!value) fail(ErrorKind::kNotFound, "TensorDict: no entry '", name, "'; there is ", quoted_names(*this));
  return *value;
}

const at::Tensor& TensorDict::operator[](std::string_view name) const {
  const Value& value = at(name);
  require(value.is_tensor(), "TensorDict: entry '", name, "' holds strings, not numbers: use strings(\"", name, "\")");
  return value.tensor();
}

const StringTensor& TensorDict::strings(std::string_view name) const {
  const Value& value = at(name);
  require(value.is_strings(), "TensorDict: entry '", name, "' holds numbers, not strings");
  return value.strings();
}

const Value& TensorDict::only() const {
  require(!empty(),
          "TensorDict: one tensor was wanted, and there is none (labels of an input that gives features alone?)");
  require(size() == 1, "TensorDict: one tensor was wanted; there is ", quoted_names(*this));
  return entries_[0].second;
}

void TensorDict::set(std::string name, Value value) {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.first == name; });
  if (found != entries_.end()) {
    found->second = std::move(value);
  } else {
    entries_.emplace_back(std::move(name), std::move(value));
  }
}

void TensorDict::set_nested(const std::string& name, const TensorDict& inner) {
  require(!name.empty(), "TensorDict: a nested dict needs a name");
  const std::string prefix = name + "/";
  std::erase_if(entries_, [&](const Entry& old) { return old.first == name || old.first.starts_with(prefix); });
  for (const auto& [entry, value] : inner) set(entry.empty() ? name : name + "/" + entry, value);
}

TensorDict TensorDict::nested(std::string_view name) const {
  const std::string prefix = std::string(name) + "/";
  TensorDict inner;
  for (const auto& [entry, value] : entries_) {
    if (entry == name && !name.empty()) inner.set("", value);  // a lone tensor, which has no name of its own
    if (entry.starts_with(prefix)) inner.set(entry.substr(prefix.size()), value);
  }
  if (inner.empty()) {
    fail(ErrorKind::kNotFound, "TensorDict: no entries below '", prefix, "'; there is ", quoted_names(*this));
  }
  return inner;
}

bool TensorDict::erase(std::string_view name) {
  return std::erase_if(entries_, [&](const Entry& entry) { return entry.first == name; }) > 0;
}

std::vector<std::string> TensorDict::names() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : entries_) names.push_back(name);
  return names;
}

int64_t TensorDict::rows() const {
  require(!empty(), "TensorDict: without an entry there are no rows");
  const int64_t rows = entries_[0].second.rows();
  for (const auto& [name, value] : entries_) {
    require(value.rows() == rows, "TensorDict: entry '", entries_[0].first, "' has ", rows, " rows and '", name,
            "' has ", value.rows());
  }
  return rows;
}

TensorDict TensorDict::narrow(int64_t start, int64_t length) const {
  TensorDict part;
  for (const auto& [name, value] : entries_) part.entries_.emplace_back(name, value.narrow(start, length));
  return part;
}

TensorDict cat(const std::vector<TensorDict>& parts) {
  require(!parts.empty(), "cat: no dicts were given");
  TensorDict whole;
  for (const auto& [name, value] : parts[0]) {
    std::vector<at::Tensor> tensors;
    std::vector<StringTensor> strings;
    for (const TensorDict& part : parts) {
      require(part.size() == parts[0].size(), "cat: one part has ", quoted_names(parts[0]), " and another ",
              quoted_names(part));
      if (value.is_tensor()) {
        tensors.push_back(part[name]);
      } else {
        strings.push_back(part.strings(name));
      }
    }
    whole.set(name, value.is_tensor() ? Value(at::cat(tensors)) : Value(cat(strings)));
  }
  return whole;
}

}  // namespace belfry
