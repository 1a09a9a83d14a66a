// What parse_example looks for in a tf.Example.
#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "../core/string_dtype.h"
#include "../core/tensor_dict.h"

namespace belfry {

// A feature with the same number of values in every example: tf.io.FixedLenFeature.
struct FixedLenFeature {
  c10::ScalarType dtype = c10::ScalarType::Float;  // Float, Long or kString, which are the lists an example has
  std::vector<int64_t> shape = {};                 // without the batch; empty is one value
  // What an example without the feature gets: of `dtype`, with as many values as `shape` has. None makes the feature
  // required.
  std::optional<Value> default_value = {};
};

// A feature with any number of values: tf.io.VarLenFeature in dense form. TensorFlow makes a sparse tensor of it; here
// each row has `length` values: those beyond are cut off, and those that lack, up to all of them, are `padding`.
struct VarLenFeature {
  c10::ScalarType dtype;              // Float, Long or kString
  int64_t length;                     // at least 1
  std::optional<Value> padding = {};  // one value of `dtype`; 0 or "" when not given
};

using FeatureSpec = std::variant<FixedLenFeature, VarLenFeature>;
using FeatureSpecs = std::vector<std::pair<std::string, FeatureSpec>>;

// kInvalidArgument, with the feature's name, for one that comes twice, an element type that examples do not have, sizes
// below 1 or of a product that overflows, a default or padding of another type or number of values; and for no specs.
void check(const FeatureSpecs& specs);

}  // namespace belfry
