#include "export/serving_input_receiver.h"

#include <algorithm>
#include <array>

#include "core/error.h"

namespace belfry {
namespace {

using c10::ScalarType;

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

bool can_be_served(ScalarType dtype) {
  constexpr std::array<ScalarType, 10> kDtypes = {
      ScalarType::Float, ScalarType::Double, ScalarType::Half, ScalarType::BFloat16, ScalarType::Long,
      ScalarType::Int,   ScalarType::Short,  ScalarType::Char, ScalarType::Byte,     ScalarType::Bool};
  return std::find(kDtypes.begin(), kDtypes.end(), dtype) != kDtypes.end();
}

void check(const std::string& name, const TensorSpec& spec) {
  require(!name.empty(), "serving input: a name is empty");
  require(can_be_served(spec.dtype), "serving input '", name, "': ", c10::toString(spec.dtype),
          " is not a dtype of a served tensor; float, integer and bool dtypes are");
  require(!spec.shape.empty(), "serving input '", name, "': a scalar has no batch dimension; the shape begins with -1");
  require(spec.shape[0] == -1, "serving input '", name, "': dimension 0 of shape ", shape_text(spec.shape),
          " is the batch and has to be -1");
  const bool fixed = std::all_of(spec.shape.begin() + 1, spec.shape.end(), [](int64_t size) { return size > 0; });
  require(fixed, "serving input '", name, "': the sizes after the batch in shape ", shape_text(spec.shape),
          " have to be known and positive");
  require(spec.low < spec.high, "serving input '", name, "': there is no value in [", spec.low, ", ", spec.high, ")");
}

}  // namespace

ServingInputReceiver::ServingInputReceiver(const std::vector<std::pair<std::string, TensorSpec>>& features) {
  require(!features.empty(), "serving inputs: there are none");
  for (const auto& [name, spec] : features) {
    check(name, spec);
    for (const ServingInput& other : inputs_) {
      if (other.name == name) fail(ErrorKind::kAlreadyExists, "serving inputs: the name '", name, "' comes twice");
    }
    inputs_.push_back({name, name, spec});
  }
}

ServingInputReceiver::ServingInputReceiver(const TensorSpec& feature) : inputs_{{"input", "feature", feature}} {
  check("input", feature);
}

ServingInputReceiverFn build_raw_serving_input_receiver_fn(std::vector<std::pair<std::string, TensorSpec>> features) {
  return [receiver = ServingInputReceiver(features)] { return receiver; };
}

ServingInputReceiverFn build_raw_serving_input_receiver_fn(TensorSpec feature) {
  return [receiver = ServingInputReceiver(feature)] { return receiver; };
}

}  // namespace belfry
