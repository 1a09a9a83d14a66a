#include "distribute/distributed_dataset.h"

#include <ATen/ATen.h>

#include "core/error.h"
#include "distribute/internal/context_stack.h"
#include "distribute/internal/on_device.h"
#include "distribute/internal/split_batch_rows.h"
#include "distribute/replica_context.h"
#include "distribute/strategy.h"

namespace belfry {
namespace {

void check_options(const InputOptions& options, DistributedIterator::Source source) {
  const bool per_replica = options.experimental_replication_mode == InputReplicationMode::kPerReplica;
  require(options.experimental_per_replica_buffer_size >= 0, "InputOptions: experimental_per_replica_buffer_size is ",
          options.experimental_per_replica_buffer_size, "; 0 or more is wanted");
  require(!options.experimental_place_dataset_on_device || (per_replica && !options.experimental_fetch_to_device),
          "InputOptions: experimental_place_dataset_on_device wants experimental_replication_mode kPerReplica and "
          "experimental_fetch_to_device false");
  if (!per_replica) return;
  fail(ErrorKind::kUnimplemented, "InputOptions: one input pipeline for each replica (kPerReplica)",
       source == DistributedIterator::Source::kGlobalBatches ? "; the replicas of a worker share a data set"
                                                             : "; call the strategy's function for the worker");
}

}  // namespace

DistributedIterator::DistributedIterator(const Strategy& strategy, const Dataset& dataset, Source source,
                                         bool fetch_to_device)
    : strategy_(strategy),
      iterator_(dataset.iterate()),
      source_(source),
      fetch_to_device_(fetch_to_device),
      even_batch_size_(dataset.options().distribute.auto_shard_policy == AutoShardPolicy::kOff ? dataset.batch_size()
                                                                                               : std::nullopt) {}

std::optional<PerReplica<Batch>> DistributedIterator::next() {
  const ReplicaContext* replica = internal::thread_context().replica;
  require(!replica, "next of a distributed data set was called by replica ", replica ? replica->replica_id() : 0,
          " inside a run; take the step outside, and give it to run");
  std::optional<std::vector<Batch>> pieces = source_ == Source::kGlobalBatches ? next_cut() : next_of_each();
  if (!pieces) return std::nullopt;
  for (size_t i = 0; fetch_to_device_ && i < pieces->size(); ++i) {
    const at::Device device = strategy_.worker_devices()[i].device;
    (*pieces)[i] = {internal::on_device((*pieces)[i].features, device),
                    internal::on_device((*pieces)[i].labels, device)};
  }
  return PerReplica<Batch>(std::move(*pieces));
}

std::optional<std::vector<Batch>> DistributedIterator::next_cut() {
  const std::optional<Batch> batch = iterator_.next();
  if (!batch) return std::nullopt;
  const int64_t rows = internal::rows_of(*batch);
  const int64_t replicas = strategy_.num_replicas_in_sync();
  return internal::split_rows_of(*batch, even_batch_size_ ? internal::even_sizes(*even_batch_size_, rows, replicas)
                                                          : internal::ceil_sizes(rows, replicas));
}

std::optional<std::vector<Batch>> DistributedIterator::next_of_each() {
  std::vector<Batch> batches;
  for (int i = 0; i < strategy_.num_replicas_in_sync(); ++i) {
    std::optional<Batch> batch = iterator_.next();
    if (!batch && batches.empty()) return std::nullopt;
    if (batch) internal::rows_of(*batch);  // refuses what has none
    // The last step is filled up: its replicas all take part, and none has to know.
    batches.push_back(batch ? std::move(*batch) : internal::without_rows(batches[0]));
  }
  return batches;
}

DistributedDataset::DistributedDataset(const Strategy& strategy, Dataset dataset, DistributedIterator::Source source,
                                       const InputOptions& options)
    : strategy_(&strategy),
      dataset_(std::move(dataset)),
      source_(source),
      fetch_to_device_(options.experimental_fetch_to_device) {
  check_options(options, source);
  const int64_t batches = source == DistributedIterator::Source::kGlobalBatches ? 1 : strategy.num_replicas_in_sync();
  const int64_t ahead = batches * options.experimental_per_replica_buffer_size;
  if (ahead > 0) dataset_ = dataset_.prefetch(ahead);
}

DistributedIterator DistributedDataset::iterate() const {
  return DistributedIterator(*strategy_, dataset_, source_, fetch_to_device_);
}

std::optional<ElementSpec> DistributedDataset::element_spec() const {
  std::optional<ElementSpec> spec = dataset_.element_spec();
  const int64_t replicas = strategy_->num_replicas_in_sync();
  if (!spec || replicas == 1) return spec;
  const bool cut = source_ == DistributedIterator::Source::kGlobalBatches;
  for (auto* entries : {&spec->features, &spec->labels}) {
    for (auto& [name, entry] : *entries) {
      if (entry.shape.empty() || entry.shape[0] == kUnknownSize) continue;
      entry.shape[0] = cut && entry.shape[0] % replicas == 0 ? entry.shape[0] / replicas : kUnknownSize;
    }
  }
  return spec;
}

DistributedDataset::InputIterator::InputIterator(DistributedIterator iterator)
    : iterator_(std::make_shared<DistributedIterator>(std::move(iterator))), step_(iterator_->next()) {}

DistributedDataset::InputIterator& DistributedDataset::InputIterator::operator++() {
  step_ = iterator_->next();
  return *this;
}

PerReplica<Batch> InputIterator::get_next() {
  if (!iterator_) fail(ErrorKind::kFailedPrecondition, "get_next was called before initialize");
  if (std::optional<PerReplica<Batch>> step = iterator_->next()) return std::move(*step);
  fail(ErrorKind::kOutOfRange, "get_next: the data set has ended; initialize begins anew");
}

// The data sets of a strategy.

DistributedDataset Strategy::experimental_distribute_dataset(const Dataset& dataset, const InputOptions& options) {
  internal::check_may_enter(*this, "experimental_distribute_dataset", "make it outside the run");
  return {*this, dataset, DistributedIterator::Source::kGlobalBatches, options};
}

DistributedDataset Strategy::distribute_datasets_from_function(
    const std::function<Dataset(const InputContext&)>& dataset_fn, const InputOptions& options) {
  internal::check_may_enter(*this, "distribute_datasets_from_function", "make it outside the run");
  require(static_cast<bool>(dataset_fn), "distribute_datasets_from_function: no function was given");
  const StrategyScope entered(*this);
  const InputContext context{.num_replicas_in_sync = num_replicas_in_sync()};
  return {*this, dataset_fn(context), DistributedIterator::Source::kReplicaBatches, options};
}

InputIterator Strategy::make_dataset_iterator(const Dataset& dataset) {
  return InputIterator(experimental_distribute_dataset(dataset));
}

InputIterator Strategy::make_input_fn_iterator(const std::function<Dataset(const InputContext&)>& input_fn,
                                               InputReplicationMode replication_mode) {
  require(replication_mode == InputReplicationMode::kPerWorker,
          "make_input_fn_iterator: replication_mode kPerReplica; kPerWorker is wanted");
  return InputIterator(distribute_datasets_from_function(input_fn));
}

}  // namespace belfry
