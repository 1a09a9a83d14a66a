#include "export/internal/check_tensor_spec.h"

#include <algorithm>
#include <array>

#include "core/error.h"

namespace belfry::internal {
namespace {

using c10::ScalarType;

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

bool is_number(ScalarType dtype) {
  constexpr std::array<ScalarType, 10> kDtypes = {
      ScalarType::Float, ScalarType::Double, ScalarType::Half, ScalarType::BFloat16, ScalarType::Long,
      ScalarType::Int,   ScalarType::Short,  ScalarType::Char, ScalarType::Byte,     ScalarType::Bool};
  return std::find(kDtypes.begin(), kDtypes.end(), dtype) != kDtypes.end();
}

void check_dtype(const std::string& name, ScalarType dtype, bool strings_too) {
  if (is_number(dtype) || (strings_too && dtype == kString)) return;
  const char* hint = dtype == kString ? "; a ReceiverBuilder turns strings into numbers" : "";
  fail(ErrorKind::kInvalidArgument, "serving input '", name, "': ", dtype_text(dtype),
       " is not a dtype of a served tensor; float, integer and bool dtypes are", hint);
}

}  // namespace

void check_tensor_spec(const std::string& name, const TensorSpec& spec, bool strings_too) {
  require(!name.empty(), "serving input: a name is empty");
  check_dtype(name, spec.dtype, strings_too);
  require(!spec.shape.empty(), "serving input '", name, "': a scalar has no batch dimension; the shape begins with -1");
  require(spec.shape[0] == -1, "serving input '", name, "': dimension 0 of shape ", shape_text(spec.shape),
          " is the batch and has to be -1");
  const bool fixed = std::all_of(spec.shape.begin() + 1, spec.shape.end(), [](int64_t size) { return size > 0; });
  require(fixed, "serving input '", name, "': the sizes after the batch in shape ", shape_text(spec.shape),
          " have to be known and positive");
  require(spec.low < spec.high, "serving input '", name, "': there is no value in [", spec.low, ", ", spec.high, ")");
}

}  // namespace belfry::internal
