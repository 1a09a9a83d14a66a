#include "data/internal/map_node.h"

#include <ATen/ATen.h>

#include <vector>

#include "core/error.h"
#include "data/internal/adopt.h"
#include "data/internal/row_source.h"
#include "data/internal/rows.h"

namespace belfry::data_internal {
namespace {

std::vector<int64_t> versions(const TensorDict& dict) {
  std::vector<int64_t> numbers;
  for (const auto& [name, value] : dict) {
    const bool counted = value.is_tensor() && value.tensor().defined() && !value.tensor().is_inference();
    numbers.push_back(counted ? value.tensor()._version() : 0);
  }
  return numbers;
}

// Writing into the element would change the source behind it for good.
void require_unchanged(const TensorDict& dict, const std::vector<int64_t>& before) {
  const std::vector<int64_t> after = versions(dict);
  size_t i = 0;
  for (const auto& [name, value] : dict) {
    require(before[i] == after[i], "Dataset::map: the function wrote into '", name,
            "', which is the memory of the source: make a new tensor instead");
    ++i;
  }
}

Batch apply(const MapFunction& function, Batch element) {
  const Batch given = element;
  const std::vector<int64_t> features = versions(given.features);
  const std::vector<int64_t> labels = versions(given.labels);
  Batch mapped = function(std::move(element));
  require_unchanged(given.features, features);
  require_unchanged(given.labels, labels);
  require(!mapped.features.empty(), "Dataset::map: the function gave an element without features");
  require_defined("Dataset::map", mapped);
  return adopt_from_maker(std::move(mapped), given);
}

class MappedRows : public RowSource {
 public:
  MappedRows(NodePtr input, MapFunction function)
      : input_(std::move(input)), rows_(*as_rows(input_)), function_(std::move(function)) {}

  std::string describe() const override { return input_->describe() + ".map"; }
  int64_t rows() const override { return rows_.rows(); }
  std::optional<ElementSpec> element_spec() const override { return std::nullopt; }
  Batch row(int64_t i) const override { return apply(function_, rows_.row(i)); }

  Batch range(int64_t start, int64_t step, int64_t count) const override {
    if (count == 0) return rows_.range(start, step, 0);
    std::vector<Batch> elements;
    for (int64_t k = 0; k < count; ++k) elements.push_back(row(start + k * step));
    return stack(elements);
  }

  Batch select(const at::Tensor& indices) const override {
    std::vector<Batch> elements;
    const auto* numbers = indices.const_data_ptr<int64_t>();
    for (int64_t k = 0; k < indices.numel(); ++k) elements.push_back(row(numbers[k]));
    return stack(elements);
  }

  const NodePtr* input() const override { return &input_; }
  NodePtr over(NodePtr input) const override { return make_map(std::move(input), function_); }

 private:
  NodePtr input_;
  const RowSource& rows_;
  MapFunction function_;
};

class MapStream : public Stream {
 public:
  MapStream(std::unique_ptr<Stream> input, const MapFunction& function)
      : input_(std::move(input)), function_(function) {}

  std::optional<Batch> next() override {
    std::optional<Batch> element = input_->next();
    if (!element) return std::nullopt;
    return apply(function_, *std::move(element));
  }

  void save(PositionWriter& to) const override { input_->save(to); }
  void restore(PositionReader& from) override { input_->restore(from); }
  int64_t epoch() const override { return input_->epoch(); }

 private:
  std::unique_ptr<Stream> input_;
  const MapFunction& function_;
};

class MapNode : public Node {
 public:
  MapNode(NodePtr input, MapFunction function) : input_(std::move(input)), function_(std::move(function)) {}

  std::string describe() const override { return input_->describe() + ".map"; }
  int64_t cardinality() const override { return input_->cardinality(); }
  bool batched() const override { return input_->batched(); }
  // The function may change both.
  std::optional<int64_t> batch_size() const override { return std::nullopt; }
  std::optional<ElementSpec> element_spec() const override { return std::nullopt; }
  std::unique_ptr<Stream> open(int64_t pass) const override {
    return std::make_unique<MapStream>(input_->open(pass), function_);
  }

  const NodePtr* input() const override { return &input_; }
  NodePtr over(NodePtr input) const override { return make_map(std::move(input), function_); }

 private:
  NodePtr input_;
  MapFunction function_;
};

}  // namespace

NodePtr make_map(NodePtr input, MapFunction function) {
  require(function != nullptr, "Dataset::map: the function is empty");
  if (as_rows(input)) return std::make_shared<MappedRows>(std::move(input), std::move(function));
  return std::make_shared<MapNode>(std::move(input), std::move(function));
}

}  // namespace belfry::data_internal
