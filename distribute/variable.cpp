#include "distribute/variable.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "core/error.h"

namespace belfry {
Variable::Variable(std::string name, at::Tensor value, VariableKind kind)
    : name_(std::move(name)), kind_(kind), value_(std::move(value)) {}

void Variable::assign(const at::Tensor& value) {
  require(value.sizes() == value_.sizes(), "variable '", name_, "' has shape ", value_.sizes(),
          " and was given a value of shape ", value.sizes());
  require(value.scalar_type() == value_.scalar_type(), "variable '", name_, "' holds ", value_.scalar_type(),
          " and was given a value of ", value.scalar_type());
  const at::NoGradGuard no_grad;
  value_.copy_(value);
  bump_version();
}

at::Tensor Variable::in_layout(const at::Tensor& like) const {
  if (like.strides() == value_.strides() && like.scalar_type() == value_.scalar_type() &&
      like.device() == value_.device()) {
    return like;
  }
  at::Tensor dense = at::empty_like(value_);
  dense.copy_(like);
  return dense;
}

void check_variable_name(const std::string& name) {
  const auto first = [](unsigned char c) { return std::isalnum(c) || c == '.'; };
  const auto other = [&](unsigned char c) {
    return first(c) || c == '_' || c == '-' || c == '/' || c == '>' || c == '\\';
  };
  require(!name.empty() && first(static_cast<unsigned char>(name[0])) && std::all_of(name.begin(), name.end(), other),
          "'", name, "' is not a variable's name: letters, digits and '.' first, then also '_', '-', '/'");
}

}  // namespace belfry
