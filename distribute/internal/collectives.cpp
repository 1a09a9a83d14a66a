#include "distribute/internal/collectives.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <functional>

#include "core/error.h"
#include "distribute/internal/nccl_reduce.h"
#include "distribute/internal/packed_sum.h"
#include "distribute/internal/reduce_values.h"
#include "distribute/step_context.h"

namespace belfry::internal {
namespace {

using Tensors = std::vector<at::Tensor>;
using Lists = std::vector<Tensors>;  // one of each replica

// Made of the values that every replica has at one place of the list.
using Combine = std::function<at::Tensor(const Tensors& replicas)>;

Tensors at_place(const Lists& all, size_t place) {
  Tensors values;
  for (const Tensors& replica : all) values.push_back(replica[place]);
  return values;
}

// Each replica combines for itself, on its own thread and device, so that no result is shared. A second meeting ends
// it, since a replica that went on could write to what others still read.
Tensors combine_each(const Lists& all, StepContext& context, const std::string& what,
                     const CommunicationOptions& options, const Combine& combine) {
  Tensors combined;
  for (size_t i = 0; i < all[0].size(); ++i) combined.push_back(combine(at_place(all, i)));
  context.gather_lists("the end of " + what, {}, options.timeout_seconds);
  return combined;
}

bool alike(const Tensors& values) {
  return std::all_of(values.begin(), values.end(), [&](const at::Tensor& value) {
    return value.defined() && value.scalar_type() == values[0].scalar_type() && value.sizes() == values[0].sizes();
  });
}

// The same answer in every replica, which all see the same.
bool goes_by_nccl(const Lists& all, const CommunicationOptions& options, const std::string& what) {
  if (options.implementation == CommunicationImplementation::kSharedMemory || all[0].empty()) return false;
  for (size_t i = 0; i < all[0].size(); ++i) {
    const Tensors values = at_place(all, i);
    if (!alike(values)) return false;  // whoever reads them in shared memory says what differs
    const char* why = why_not_nccl(values);
    if (!why) continue;
    if (options.implementation == CommunicationImplementation::kAuto) return false;
    fail(ErrorKind::kUnimplemented, what, " was to go by NCCL, which cannot add up the replicas' tensors: ", why);
  }
  return true;
}

// Half precision in float32: it may not hold the sum of what it holds the mean of.
Lists widened(const Lists& all) {
  Lists wide = all;
  for (Tensors& replica : wide) {
    for (at::Tensor& value : replica) {
      if (at::isReducedFloatingType(value.scalar_type())) value = value.to(at::kFloat);
    }
  }
  return wide;
}

// One thread makes the call for all GPUs, and hands out the results.
Tensors sums_by_nccl(ReduceOp op, const Lists& all, StepContext& context, const std::string& what,
                     const CommunicationOptions& options) {
  Tensors results;  // replica after replica
  if (context.tower_index() == 0) {
    const Lists parts = op == ReduceOp::kMean ? widened(all) : all;
    for (const Tensors& replica : packed_sum(parts, options.bytes_per_pack, nccl_all_reduce)) {
      results.insert(results.end(), replica.begin(), replica.end());
    }
  }
  const Lists shared = context.gather_lists("the end of " + what, std::move(results), options.timeout_seconds);
  const auto count = static_cast<std::ptrdiff_t>(all[0].size());
  const auto first = shared[0].begin() + context.tower_index() * count;
  Tensors mine(first, first + count);
  if (op == ReduceOp::kSum) return mine;
  at::_foreach_div_(mine, static_cast<double>(all.size()));
  for (size_t i = 0; i < mine.size(); ++i) mine[i] = mine[i].to(all[0][i].scalar_type());
  return mine;
}

Tensors detached(const Tensors& values) {
  Tensors plain;
  for (const at::Tensor& value : values) plain.push_back(value.detach());
  return plain;
}

// What a backward pass has to know of its forward one.
struct Call {
  Call(torch::autograd::AutogradContext& saved, StepContext& context, const std::string& what,
       const CommunicationOptions& options) {
    saved.saved_data["step"] = static_cast<int64_t>(context.id());
    // With a number: backward passes may come in another order than forward ones.
    saved.saved_data["what"] = concat(what, " (collective ", context.next_collective(), " of the step)");
    saved.saved_data["timeout"] = options.timeout_seconds.value_or(0);
  }
  explicit Call(torch::autograd::AutogradContext& saved) {
    what = "the gradient of " + saved.saved_data["what"].toStringRef();
    if (saved.saved_data["timeout"].toDouble() > 0) options.timeout_seconds = saved.saved_data["timeout"].toDouble();
    context = StepContext::current();
    if (context && static_cast<int64_t>(context->id()) == saved.saved_data["step"].toInt()) return;
    fail(ErrorKind::kFailedPrecondition, what, " is asked for outside the run that made it: the replicas are gone");
  }

  StepContext* context = nullptr;
  std::string what;
  CommunicationOptions options;  // of the meeting that takes the gradients: a timeout
};

struct AllReduce : torch::autograd::Function<AllReduce> {
  static Tensors forward(torch::autograd::AutogradContext* saved, at::TensorList values, int64_t op,
                         StepContext* context, const std::string& what, const CommunicationOptions& options) {
    const Call call(*saved, *context, what, options);
    saved->saved_data["op"] = op;
    return reduce(static_cast<ReduceOp>(op), values.vec(), *context, what, options);
  }

  static Tensors backward(torch::autograd::AutogradContext* saved, Tensors gradients) {
    const Call call(*saved);
    const auto op = static_cast<ReduceOp>(saved->saved_data["op"].toInt());
    Tensors result = reduce(op, gradients, *call.context, call.what, call.options);
    result.resize(result.size() + 4);
    return result;
  }

  static Tensors reduce(ReduceOp op, const Tensors& values, StepContext& context, const std::string& what,
                        const CommunicationOptions& options) {
    const Lists all = context.gather_lists(what, detached(values), options.timeout_seconds);
    if (goes_by_nccl(all, options, what)) return sums_by_nccl(op, all, context, what, options);
    const at::Device device = context.device();
    return combine_each(all, context, what, options, [&](const Tensors& replicas) {
      return reduce_over_replicas("all_reduce", op, replicas, device);
    });
  }
};

struct AllGather : torch::autograd::Function<AllGather> {
  static Tensors forward(torch::autograd::AutogradContext* saved, at::TensorList values, int64_t axis,
                         StepContext* context, const std::string& what, const CommunicationOptions& options) {
    const Call call(*saved, *context, what, options);
    saved->saved_data["axis"] = axis;
    std::vector<int64_t> starts, sizes;
    const Lists all = context->gather_lists(what, detached(values.vec()), options.timeout_seconds);
    Tensors gathered = combine_each(all, *context, what, options, [&](const Tensors& replicas) {
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
    Tensors result = AllReduce::reduce(ReduceOp::kSum, gradients, *call.context, call.what, call.options);
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
                   const CommunicationOptions& options) {
  check_differentiable(values, what);
  return AllReduce::apply(at::TensorList(values), static_cast<int64_t>(op), &context, what, options);
}

Tensors all_gather(const Tensors& values, int64_t axis, StepContext& context, const std::string& what,
                   const CommunicationOptions& options) {
  check_differentiable(values, what);
  return AllGather::apply(at::TensorList(values), axis, &context, what, options);
}

}  // namespace belfry::internal
