#include "distribute/internal/reduce_values.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "core/error.h"

namespace belfry::internal {
namespace {

void check_dtypes(const char* what, const std::vector<at::Tensor>& components) {
  for (size_t i = 0; i < components.size(); ++i) {
    require(components[i].defined(), what, ": replica ", i, " has an undefined tensor");
    require(components[i].scalar_type() == components[0].scalar_type(), what, ": replica 0 has ",
            components[0].scalar_type(), " and replica ", i, " has ", components[i].scalar_type());
    require(components[i].layout() == components[0].layout(), what, ": replica 0 has a ", components[0].layout(),
            " tensor and replica ", i, " a ", components[i].layout(), " one");
  }
}

void check_numbers(const char* what, const std::vector<at::Tensor>& components) {
  check_dtypes(what, components);
  require(components[0].scalar_type() != at::kBool, what, ": bool values cannot be added up; give numbers");
}

void check_shapes(const char* what, const std::vector<at::Tensor>& components) {
  for (size_t i = 1; i < components.size(); ++i) {
    require(components[i].sizes() == components[0].sizes(), what, ": replica 0 has shape ", components[0].sizes(),
            " and replica ", i, " has shape ", components[i].sizes());
  }
}

at::Tensor joined_rows(const std::vector<at::Tensor>& components, at::Device device) {
  std::vector<at::Tensor> indices, values;
  for (const at::Tensor& component : components) {
    indices.push_back(component._indices().to(device));
    values.push_back(component._values().to(device));
  }
  return at::sparse_coo_tensor(at::cat(indices, 1), at::cat(values, 0), components[0].sizes(),
                               components[0].options().device(device));
}

at::Tensor sum(const std::vector<at::Tensor>& components, at::Device device) {
  if (components[0].is_sparse()) return joined_rows(components, device);
  if (components.size() == 1) return components[0].to(device).clone();
  at::Tensor total = components[0].to(device) + components[1].to(device);
  for (size_t i = 2; i < components.size(); ++i) total.add_(components[i].to(device));
  return total;
}

// The dtype in which a mean's sum is taken: half precision may not hold what it comes to, though it holds the mean.
at::ScalarType dtype_of_sum(ReduceOp op, at::ScalarType dtype) {
  return op == ReduceOp::kMean && at::isReducedFloatingType(dtype) ? at::kFloat : dtype;
}

std::vector<at::Tensor> widened(ReduceOp op, const std::vector<at::Tensor>& components) {
  std::vector<at::Tensor> wide;
  for (const at::Tensor& component : components) {
    wide.push_back(component.to(dtype_of_sum(op, component.scalar_type())));
  }
  return wide;
}

at::Tensor divided(const at::Tensor& total, double count) {
  if (at::isIntegralType(total.scalar_type(), false)) return total.to(at::kDouble) / count;
  return total / count;
}

// The mean in half precision again where the components have it.
at::Tensor in_dtype_of(const at::Tensor& component, const at::Tensor& mean) {
  return at::isReducedFloatingType(component.scalar_type()) ? mean.to(component.scalar_type()) : mean;
}

std::vector<int64_t> checked_axes(const char* what, const std::vector<int64_t>& axes, const at::Tensor& component) {
  std::vector<int64_t> wrapped;
  for (const int64_t axis : axes) {
    require(axis >= -component.dim() && axis < component.dim(), what, ": axis ", axis,
            " is out of range for a component of shape ", component.sizes());
    wrapped.push_back(axis < 0 ? axis + component.dim() : axis);
    require(std::count(wrapped.begin(), wrapped.end(), wrapped.back()) == 1, what, ": axis ", axis, " is given twice");
  }
  return wrapped;
}

}  // namespace

at::Tensor reduce_over_replicas(const char* what, ReduceOp op, const std::vector<at::Tensor>& components,
                                at::Device device) {
  check_numbers(what, components);
  check_shapes(what, components);
  const at::Tensor total = sum(widened(op, components), device);
  if (op == ReduceOp::kSum) return total;
  return in_dtype_of(components[0], divided(total, static_cast<double>(components.size())));
}

at::Tensor reduce_values(const char* what, ReduceOp op, const std::vector<at::Tensor>& components, const Axes& axes,
                         at::Device device) {
  if (!axes) return reduce_over_replicas(what, op, components, device);
  check_numbers(what, components);
  std::vector<at::Tensor> sums;
  double count = 0;
  for (const at::Tensor& component : components) {
    const std::vector<int64_t> wrapped = checked_axes(what, *axes, component);
    double elements = 1;
    for (const int64_t axis : wrapped) elements *= static_cast<double>(component.size(axis));
    count += elements;
    // An empty list means every axis to LibTorch.
    const at::ScalarType dtype = dtype_of_sum(op, component.scalar_type());
    sums.push_back(wrapped.empty() ? component.to(dtype) : at::sum(component, wrapped, false, dtype));
  }
  check_shapes(what, sums);
  const at::Tensor total = sum(sums, device);
  return op == ReduceOp::kSum ? total : in_dtype_of(components[0], divided(total, count));
}

at::Tensor gather_values(const char* what, const std::vector<at::Tensor>& components, int64_t axis, at::Device device) {
  check_dtypes(what, components);
  if (components[0].layout() != at::kStrided) fail(ErrorKind::kUnimplemented, what, " of sparse tensors");
  const int64_t dims = components[0].dim();
  require(dims > 0, what, ": scalars have no axis to be concatenated along; give at least one dimension");
  require(axis >= -dims && axis < dims, what, ": axis ", axis, " is out of range for a component of shape ",
          components[0].sizes());
  const int64_t along = axis < 0 ? axis + dims : axis;
  std::vector<at::Tensor> there;
  for (size_t i = 0; i < components.size(); ++i) {
    std::vector<int64_t> expected = components[0].sizes().vec();
    if (components[i].dim() == dims) expected[static_cast<size_t>(along)] = components[i].size(along);
    require(components[i].sizes() == at::IntArrayRef(expected), what, ": replica 0 has shape ", components[0].sizes(),
            " and replica ", i, " has shape ", components[i].sizes(), "; they may differ along axis ", axis, " only");
    there.push_back(components[i].to(device));
  }
  return at::cat(there, along);
}

}  // namespace belfry::internal
