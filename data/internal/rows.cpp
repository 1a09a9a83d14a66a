#include "data/internal/rows.h"

#include <ATen/ATen.h>

#include "core/error.h"

namespace belfry::data_internal {
namespace {

template <class Function>
TensorDict each_entry(const TensorDict& dict, const Function& function) {
  TensorDict out;
  for (const auto& [name, value] : dict) out.set(name, function(value));
  return out;
}

template <class Function>
Batch each_value(const Batch& block, const Function& function) {
  return {each_entry(block.features, function), each_entry(block.labels, function)};
}

StringTensor string_row(const StringTensor& strings, int64_t i) {
  std::vector<int64_t> sizes(strings.sizes().begin() + 1, strings.sizes().end());
  return strings.narrow(i, 1).reshape(std::move(sizes));
}

StringTensor string_range(const StringTensor& strings, int64_t start, int64_t step, int64_t count) {
  if (step == 1) return strings.narrow(start, count);
  std::vector<int64_t> rows(static_cast<size_t>(count));
  for (size_t k = 0; k < rows.size(); ++k) rows[k] = start + static_cast<int64_t>(k) * step;
  return strings.index_select(rows);
}

at::Tensor number_range(const at::Tensor& tensor, int64_t start, int64_t step, int64_t count) {
  if (step == 1) return tensor.narrow(0, start, count);
  return tensor.slice(0, start, count == 0 ? start : start + (count - 1) * step + 1, step);
}

std::string type_and_shape(const Value& value) {
  if (value.is_strings()) return concat("string", at::IntArrayRef(value.sizes()));
  return concat(at::toString(value.tensor().scalar_type()), value.tensor().sizes());
}

const Value& same_entry(const TensorDict& dict, const std::string& name, const Value& first) {
  const Value* value = dict.find(name);
  require(value, "batch: one element has an entry '", name, "' and another has none");
  const bool same = value->is_tensor() == first.is_tensor() && value->sizes() == first.sizes() &&
                    (first.is_strings() || value->tensor().scalar_type() == first.tensor().scalar_type());
  require(same, "batch: elements differ and cannot be stacked: '", name, "' is ", type_and_shape(first), " in one and ",
          type_and_shape(*value), " in another");
  return *value;
}

Value stack_entry(const std::vector<const TensorDict*>& dicts, const std::string& name, const Value& first) {
  std::vector<at::Tensor> tensors;
  std::vector<StringTensor> strings;
  std::vector<int64_t> one_row = first.sizes();
  one_row.insert(one_row.begin(), 1);
  for (const TensorDict* dict : dicts) {
    const Value& value = same_entry(*dict, name, first);
    if (value.is_tensor()) {
      tensors.push_back(value.tensor());
    } else {
      strings.push_back(value.strings().reshape(one_row));
    }
  }
  return first.is_tensor() ? Value(at::stack(tensors)) : Value(belfry::cat(strings));
}

TensorDict stack_dicts(const std::vector<const TensorDict*>& dicts) {
  TensorDict out;
  for (const auto& [name, first] : *dicts[0]) out.set(name, stack_entry(dicts, name, first));
  for (const TensorDict* dict : dicts) {
    require(dict->size() == out.size(), "batch: one element has ", out.size(), " entries and another ", dict->size());
  }
  return out;
}

}  // namespace

int64_t rows_of(const Batch& block) { return block.features.begin()->second.rows(); }

Batch row(const Batch& block, int64_t i) {
  return each_value(block, [&](const Value& value) {
    return value.is_tensor() ? Value(value.tensor().select(0, i)) : Value(string_row(value.strings(), i));
  });
}

Batch range(const Batch& block, int64_t start, int64_t step, int64_t count) {
  return each_value(block, [&](const Value& value) {
    return value.is_tensor() ? Value(number_range(value.tensor(), start, step, count))
                             : Value(string_range(value.strings(), start, step, count));
  });
}

Batch select(const Batch& block, const at::Tensor& indices) {
  std::vector<int64_t> rows;  // filled when the first strings come
  return each_value(block, [&](const Value& value) -> Value {
    if (value.is_tensor()) return value.tensor().index_select(0, indices.to(value.tensor().device()));
    if (rows.empty())
      rows.assign(indices.const_data_ptr<int64_t>(), indices.const_data_ptr<int64_t>() + indices.numel());
    return value.strings().index_select(rows);
  });
}

Batch stack(const std::vector<Batch>& elements) {
  std::vector<const TensorDict*> features;
  std::vector<const TensorDict*> labels;
  for (const Batch& element : elements) {
    features.push_back(&element.features);
    labels.push_back(&element.labels);
  }
  return {stack_dicts(features), stack_dicts(labels)};
}

Batch cat(const std::vector<Batch>& blocks) {
  std::vector<TensorDict> features;
  std::vector<TensorDict> labels;
  for (const Batch& block : blocks) {
    features.push_back(block.features);
    labels.push_back(block.labels);
  }
  return {belfry::cat(features), belfry::cat(labels)};
}

std::string describe(const TensorDict& dict) {
  std::string text;
  for (const auto& [name, value] : dict) text += (text.empty() ? "'" : ", '") + name + "' " + type_and_shape(value);
  return text;
}

}  // namespace belfry::data_internal
