#include "data/tensor_input_fn.h"

#include "core/error.h"

namespace belfry {
namespace {

void check_options(const Features& features, const Labels& labels, const TensorInputOptions& options) {
  require(options.shuffle.has_value(), "tensor_input_fn: say .shuffle = true (training) or false (all else)");
  require(options.batch_size > 0, "tensor_input_fn: batch_size is ", options.batch_size, "; at least 1 was wanted");
  require(options.num_epochs > 0 || options.num_epochs == kForever, "tensor_input_fn: num_epochs is ",
          options.num_epochs, "; at least 1, or kForever, was wanted");
  for (const auto& [name, value] : labels) {
    require(name.empty() || !features.contains(name), "tensor_input_fn: '", name, "' is a feature and a label");
  }
}

}  // namespace

InputFn tensor_input_fn(Features features, Labels labels, const TensorInputOptions& options) {
  check_options(features, labels, options);
  Dataset data = Dataset::from_tensors(std::move(features), std::move(labels));
  if (*options.shuffle) data = data.shuffle({.seed = options.seed});
  data = data.repeat(options.num_epochs).batch(options.batch_size);
  return [data] { return data; };
}

InputFn tensor_input_fn(Features features, const TensorInputOptions& options) {
  return tensor_input_fn(std::move(features), Labels(), options);
}

}  // namespace belfry
