// One feature of many examples on its way to a tensor.
#pragma once

#include <memory>
#include <string>

#include "core/tensor_dict.h"
#include "data/feature_spec.h"

namespace belfry::proto {
class Feature;
}

namespace belfry::data_internal {

class ExampleColumn {
 public:
  virtual ~ExampleColumn() = default;
  // Writes row `row` from the feature, or from the spec's default or padding where that is null or holds no list.
  // kInvalidArgument, with the row and the name, when it does not fit.
  virtual void set_row(int64_t row, const proto::Feature* feature) = 0;
  // [rows, shape...]; rows that were not set hold anything. Called once.
  virtual Value finish() = 0;
};

// `spec` has passed check(). kInvalidArgument when the tensor's values are too many to count.
std::unique_ptr<ExampleColumn> make_example_column(const std::string& name, const FeatureSpec& spec, int64_t rows);

}  // namespace belfry::data_internal
