#include "distribute/internal/collectives.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <functional>

#include "core/error.h"
#include "distribute/internal/reduce_values.h"
#include "distribute/step_context.h"

namespace belfry::internal {
namespace {

using Tensors = std::vector<at::Tensor>;
// Made of the values that every replica has at one place of the list.
using Combine = std::function<at::Tensor(const Tensors& replicas)>;

// One meeting of the replicas. Each combines for itself, on its own thread and device, so that no result is shared; a
// second meeting ends it, since a replica that went on could write to what others still read.
Tensors meet(const Tensors& values, StepContext& context, const std::string& what,
             std::optional<double> timeout_seconds, const Combine& combine) {
  const std::vector<Tensors> all = context.gather_lists(what, values, timeout_seconds);
  Tensors combined;
  for (size_t i = 0; i < values.size(); ++i) {
    Tensors at_place;
    for (const Tensors& replica : all) at_place.push_back(replica[i]);
    combined.push_back(combine(at_place));
  }
  context.gather_lists("the end of " + what, {}, timeout_seconds);
  return combined;
}

Tensors detached(const Tensors& values) {
  Tensors plain;
  for (const at::Tensor& value : values) plain.push_back(value.detach());
  return plain;
}

// What a backward pass has to know of its forward one.
struct Call {
  Call(torch::autograd::AutogradContext& saved, const StepContext& context, const std::string& what,
       std::optional<double> timeout_seconds) {
    saved.saved_data["step"] = static_cast<int64_t>(context.id());
    saved.saved_data["what"] = what;
    saved.saved_data["timeout"] = timeout_seconds.value_or(0);
  }
  explicit Call(torch::autograd::AutogradContext& saved) {
    what = "the gradient of " + saved.saved_data["what"].toStringRef();
    if (saved.saved_data["timeout"].toDouble() > 0) timeout_seconds = saved.saved_data["timeout"].toDouble();
    context = StepContext::current();
    if (context && static_cast<int64_t>(context->id()) == saved.saved_data["step"].toInt()) return;
    fail(ErrorKind::kFailedPrecondition, what, " is asked for outside the run that made it: the replicas are gone");
  }

  StepContext* context = nullptr;
  std::string what;
  std::optional<double> timeout_seconds;
};

struct AllReduce : torch::autograd::Function<AllReduce> {
  static Tensors forward(torch::autograd::AutogradContext* saved, at::TensorList values, int64_t op,
                         StepContext* context, const std::string& what, std::optional<double> timeout_seconds) {
    const Call call(*saved, *context, what, timeout_seconds);
    saved->saved_data["op"] = op;
    return reduce(static_cast<ReduceOp>(op), values.vec(), *context, what, timeout_seconds);
  }

  static Tensors backward(torch::autograd::AutogradContext* saved, Tensors gradients) {
    const Call call(*saved);
    const auto op = static_cast<ReduceOp>(saved->saved_data["op"].toInt());
    Tensors result = reduce(op, gradients, *call.context, call.what, call.timeout_seconds);
    result.resize(result.size() + 4);
    return result;
  }

  static Tensors reduce(ReduceOp op, const Tensors& values, StepContext& context, const std::string& what,
                        std::optional<double> timeout_seconds) {
    const at::Device device = context.device();
    return meet(detached(values), context, what, timeout_seconds,
                [&](const Tensors& replicas) { return reduce_over_replicas("all_reduce", op, replicas, device); });
  }
};

struct AllGather : torch::autograd::Function<AllGather> {
  static Tensors forward(torch::autograd::AutogradContext* saved, at::TensorList values, int64_t axis,
                         StepContext* context, const std::string& what, std::optional<double> timeout_seconds) {
    const Call call(*saved, *context, what, timeout_seconds);
    saved->saved_data["axis"] = axis;
    std::vector<int64_t> starts, sizes;
    Tensors gathered = meet(detached(values.vec()), *context, what, timeout_seconds, [&](const Tensors& replicas) {
      at::Tensor whole = gather_values("all_gather", replicas, axis, context->device());
      const auto mine = static_cast<std::ptrdiff_t>(context->tower_index());
      int64_t start = 0;
      std::for_each(replicas.begin(), replicas.begin() + mine,
                    [&](const at::Tensor& before) { start += before.size(axis); });
      starts.push_back(start);
      sizes.push_back(replicas[static_cast<size_t>(mine)].size(axis));
      return whole;
    });
    saved->saved_data["starts"] = starts;
    saved->saved_data["sizes"] = sizes;
    return gathered;
  }

  static Tensors backward(torch::autograd::AutogradContext* saved, Tensors gradients) {
    const Call call(*saved);
    const int64_t axis = saved->saved_data["axis"].toInt();
    const std::vector<int64_t> starts = saved->saved_data["starts"].toIntVector();
    const std::vector<int64_t> sizes = saved->saved_data["sizes"].toIntVector();
    Tensors result = AllReduce::reduce(ReduceOp::kSum, gradients, *call.context, call.what, call.timeout_seconds);
    for (size_t i = 0; i < result.size(); ++i) result[i] = result[i].narrow(axis, starts[i], sizes[i]);
    result.resize(result.size() + 4);
    return result;
  }
};

void check_differentiable(const Tensors& values, const std::string& what) {
  for (const at::Tensor& value : values) {
    if (!value.defined() || !value.requires_grad() || !at::GradMode::is_enabled()) continue;
    if (value.is_sparse()) fail(ErrorKind::kUnimplemented, what, " of a sparse tensor that needs a gradient");
    // Autograd has one thread for each GPU: two replicas on one GPU would wait for each other on it.
    if (value.is_cuda()) {
      fail(ErrorKind::kUnimplemented, what, " of a tensor on ", value.device().str(), " that needs a gradient");
    }
  }
}

}  // namespace

Tensors all_reduce(ReduceOp op, const Tensors& values, StepContext& context, const std::string& what,
                   std::optional<double> timeout_seconds) {
  check_differentiable(values, what);
  return AllReduce::apply(at::TensorList(values), static_cast<int64_t>(op), &context, what, timeout_seconds);
}

Tensors all_gather(const Tensors& values, int64_t axis, StepContext& context, const std::string& what,
                   std::optional<double> timeout_seconds) {
  check_differentiable(values, what);
  return AllGather::apply(at::TensorList(values), axis, &context, what, timeout_seconds);
}

}  // namespace belfry::internal
