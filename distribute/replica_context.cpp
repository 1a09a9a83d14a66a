#include "distribute/replica_context.h"

#include <ATen/ATen.h>

#include "core/error.h"
#include "distribute/internal/collectives.h"
#include "distribute/internal/context_stack.h"
#include "distribute/internal/reduce_values.h"
#include "distribute/step_context.h"
#include "distribute/strategy.h"

namespace belfry {
namespace {

const at::Device kCpu(at::kCPU);

// Of an all_reduce or all_gather, for messages; a lone tensor's structure is "*".
std::string words_of(const std::string& structure) {
  return structure == "*" ? "one tensor" : concat("the structure ", structure);
}

}  // namespace

ReplicaContext::ReplicaContext(Strategy& strategy, int replica_id_in_sync_group, StepContext* step)
    : strategy_(strategy), id_(replica_id_in_sync_group), step_(step) {
  require(id_ >= 0 && id_ < strategy.num_replicas_in_sync(), "ReplicaContext: replica_id_in_sync_group is ", id_, "; ",
          strategy.name(), " has ", strategy.num_replicas_in_sync(), " replicas");
}

StepContext& ReplicaContext::step(const std::string& what) const {
  if (step_) return *step_;
  fail(ErrorKind::kFailedPrecondition, what, " of a ReplicaContext that no run has made: it has no others to meet");
}

at::Tensor ReplicaContext::replica_id_in_sync_group() const { return at::full({}, id_, at::kInt); }

int ReplicaContext::num_replicas_in_sync() const {
  return step_ ? step_->tower_count() : strategy_.num_replicas_in_sync();
}

std::vector<std::string> ReplicaContext::devices() const {
  return {strategy_.worker_devices()[static_cast<size_t>(id_)].name};
}

std::vector<at::Tensor> ReplicaContext::all_reduce_tensors(ReduceOp op, const std::vector<at::Tensor>& values,
                                                           const std::string& structure,
                                                           const CommunicationOptions& options) {
  check(options, "all_reduce");
  const std::string what = concat("all_reduce ", to_string(op), " of ", words_of(structure));
  if (num_replicas_in_sync() > 1) {
    return internal::all_reduce(op, values, step(what), what, strategy_.options_of(options));
  }
  std::vector<at::Tensor> reduced;
  for (const at::Tensor& value : values) {
    reduced.push_back(
        internal::reduce_over_replicas("all_reduce", op, {value}, value.defined() ? value.device() : kCpu));
  }
  return reduced;
}

std::vector<at::Tensor> ReplicaContext::all_gather_tensors(const std::vector<at::Tensor>& values, int64_t axis,
                                                           const std::string& structure,
                                                           const CommunicationOptions& options) {
  check(options, "all_gather");
  const std::string what = concat("all_gather along axis ", axis, " of ", words_of(structure));
  if (num_replicas_in_sync() > 1) {
    return internal::all_gather(values, axis, step(what), what, strategy_.options_of(options));
  }
  std::vector<at::Tensor> gathered;
  for (const at::Tensor& value : values) {
    gathered.push_back(internal::gather_values("all_gather", {value}, axis, value.defined() ? value.device() : kCpu));
  }
  return gathered;
}

void ReplicaContext::merge(const std::type_info& function, const std::type_info& types, const void* arguments,
                           const Merge& merge, std::shared_ptr<const void>& result) {
  const internal::ThreadContext cross_replica{has_strategy() ? &strategy_ : nullptr, nullptr, true, true};
  if (num_replicas_in_sync() == 1) {
    const internal::ContextScope scope(cross_replica);
    result = merge({arguments});
    return;
  }
  // Not to be freed: it is the caller's, who waits here until all are done with it.
  const Rendezvous::Payload mine(arguments, [](const void*) {});
  const std::string what = concat("merge_call of a function of type ", function.name(), " on ", types.name());
  StepContext& step = this->step(what);
  const std::optional<double> timeout = strategy_.options_of({}).timeout_seconds;
  std::vector<const void*> all;
  for (const Rendezvous::Payload& theirs : step.exchange(what, mine, timeout)) all.push_back(theirs.get());
  if (id_ == 0) {
    strategy_.begin_merge();
    const internal::ContextScope scope(cross_replica);
    result = merge(all);
  }
  result = step.exchange("the result of " + what, result, std::nullopt)[0];
  // No meeting after it: the next merge function runs when all have come to it, so when all have read this list.
  for (const Variable* written : strategy_.written_in_merge()) step.replica().take_written(*written);
}

}  // namespace belfry
