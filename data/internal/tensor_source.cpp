#include "data/internal/tensor_source.h"

#include <ATen/ATen.h>

#include "core/error.h"
#include "data/internal/adopt.h"
#include "data/internal/rows.h"

namespace belfry::data_internal {
namespace {

Value adopt_column(const char* side, const std::string& name, const Value& value) {
  if (value.is_strings()) return value;
  const at::Tensor& tensor = value.tensor();
  require(tensor.defined(), "Dataset: the ", side, " '", name, "' is an undefined tensor");
  require(tensor.layout() == at::kStrided, "Dataset: the ", side, " '", name, "' has layout ", tensor.layout(),
          "; a dense tensor was wanted");
  return adopt(value);
}

TensorDict adopt_all(const char* side, const TensorDict& dict) {
  TensorDict out;
  for (const auto& [name, value] : dict) {
    const Value adopted = adopt_column(side, name, value);
    require(adopted.dim() > 0, "Dataset: the ", side, " '", name, "' is a scalar; dimension 0 has to be the rows");
    out.set(name, adopted);
  }
  return out;
}

// Of a row of each column.
std::vector<ElementSpec::Entry> row_specs(const TensorDict& columns) {
  std::vector<ElementSpec::Entry> specs;
  for (const auto& [name, value] : columns) {
    const std::vector<int64_t> sizes = value.sizes();
    EntrySpec spec{.shape = {sizes.begin() + 1, sizes.end()}};
    if (value.is_tensor()) spec.dtype = value.tensor().scalar_type();
    specs.emplace_back(name, std::move(spec));
  }
  return specs;
}

}  // namespace

TensorSource::TensorSource(Features features, Labels labels, std::string origin)
    : columns_{adopt_all("feature", features), adopt_all("label", labels)}, origin_(std::move(origin)) {
  require(!columns_.features.empty(), "Dataset: there are no features");
  rows_ = columns_.features.rows();
  if (columns_.labels.empty()) return;
  const int64_t label_rows = columns_.labels.rows();
  require(label_rows == rows_, "Dataset: the features have ", rows_, " rows (",
          data_internal::describe(columns_.features), ") and the labels ", label_rows, " (",
          data_internal::describe(columns_.labels), ")");
}

std::string TensorSource::describe() const {
  const std::string labels = columns_.labels.empty() ? "none" : data_internal::describe(columns_.labels);
  return origin_ + "(features: " + data_internal::describe(columns_.features) + "; labels: " + labels + ")";
}

std::optional<ElementSpec> TensorSource::element_spec() const {
  return ElementSpec{row_specs(columns_.features), row_specs(columns_.labels)};
}

Batch TensorSource::row(int64_t i) const { return data_internal::row(columns_, i); }

Batch TensorSource::range(int64_t start, int64_t step, int64_t count) const {
  return data_internal::range(columns_, start, step, count);
}

Batch TensorSource::select(const at::Tensor& indices) const { return data_internal::select(columns_, indices); }

}  // namespace belfry::data_internal
