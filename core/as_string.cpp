#include "core/as_string.h"

#include <c10/core/ScalarType.h>

#include <string>
#include <vector>

#include "core/error.h"

namespace belfry {

StringTensor as_string(const at::Tensor& integers) {
  require(integers.defined() && c10::isIntegralType(integers.scalar_type(), false), "as_string: a tensor of ",
          c10::toString(integers.scalar_type()), "; integers were wanted");
  const at::Tensor numbers = integers.to(at::kCPU, at::kLong).contiguous();
  const int64_t* data = numbers.const_data_ptr<int64_t>();
  std::vector<std::string> texts;
  texts.reserve(static_cast<size_t>(numbers.numel()));
  for (int64_t i = 0; i < numbers.numel(); ++i) texts.push_back(std::to_string(data[i]));
  return {std::move(texts), numbers.sizes().vec()};
}

}  // namespace belfry
