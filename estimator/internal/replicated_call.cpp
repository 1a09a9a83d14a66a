#include "estimator/internal/replicated_call.h"

#include <c10/util/Exception.h>

#include <algorithm>

#include "core/error.h"
#include "core/log.h"
#include "distribute/internal/on_device.h"
#include "distribute/random_scope.h"
#include "distribute/rendezvous.h"
#include "optimizers/merge_updates.h"
#include "optimizers/optimizer.h"

namespace belfry::internal {
namespace {

// The merged updates, which are in the order of the calls, in the order of tower 0's train_op: that of one device.
TrainOp in_order_of(const TrainOp& train_op, const std::vector<std::shared_ptr<PendingUpdate>>& calls,
                    const TrainOp& merged) {
  std::vector<std::shared_ptr<PendingUpdate>> ordered;
  for (const auto& update : train_op.updates()) {
    const auto call = std::find(calls.begin(), calls.end(), update);
    require(call != calls.end(), update->description(), " is part of the train_op, but not of this step");
    ordered.push_back(merged.updates()[static_cast<size_t>(call - calls.begin())]);
  }
  return TrainOp(std::move(ordered));
}

int64_t rows_of(const std::vector<TowerBatch>& parts) {
  int64_t rows = 0;
  for (const TowerBatch& part : parts) rows += part.rows;
  return rows;
}

void run_on_replicas(const std::vector<ModelContext*>& towers, const std::function<void(int)>& work) {
  towers[0]->replicas().run(static_cast<int>(towers.size()), [&](int i) {
    ModelContext& context = *towers[static_cast<size_t>(i)];
    const StepScope scope(context);
    const RandomScope random(context.random_seed());
    work(i);
  });
}

}  // namespace

ReplicatedCall::ReplicatedCall(ModelFn model_fn, const ReplicatedCallOptions& options, Run run)
    : model_fn_(std::move(model_fn)), options_(options), run_(run ? std::move(run) : Run(run_on_replicas)) {}

EstimatorSpec ReplicatedCall::operator()(const std::vector<TowerBatch>& parts, const std::function<Batch()>& whole,
                                         ModeKeys mode, ModelContext& ctx) const {
  ctx.set_rows(rows_of(parts));
  const std::optional<LoneStep> alone = is_verified(parts.size(), mode, ctx) ? run_alone(whole(), ctx) : std::nullopt;
  std::vector<ModelContext*> contexts;
  for (size_t i = 0; i < parts.size(); ++i) {
    StepContext::Options options = context_options(parts, i, mode, ctx);
    options.record_losses = alone.has_value();
    contexts.push_back(&ctx.make_tower(static_cast<int>(i), options));
  }
  std::vector<TowerResult> results(parts.size());
  run_(contexts, [&](int i) {
    const auto k = static_cast<size_t>(i);
    results[k].policy = contexts[k]->loss_policy();
    results[k].rows = parts[k].rows;
    results[k].spec = run_tower(parts[k], mode, *contexts[k]);
  });
  return merge(std::move(results), contexts, ctx, alone);
}

StepContext::Options ReplicatedCall::context_options(const std::vector<TowerBatch>& parts, size_t tower, ModeKeys mode,
                                                     const ModelContext& ctx) const {
  const int64_t rows = rows_of(parts);
  const auto share = static_cast<double>(parts[tower].rows);
  StepContext::Options options;
  options.replica_count = static_cast<int>(parts.size());
  options.noun = ctx.replicas().noun();
  if (ctx.replicas().size() > 1) options.rendezvous = &ctx.replicas().group().rendezvous();
  options.loss_policy.row_weight = rows > 0 ? share / static_cast<double>(rows) : 1.0;
  options.loss_policy.exact = options_.exact;
  const double mean = options_.exact ? options.loss_policy.row_weight : 1.0 / static_cast<double>(options_.towers);
  options.loss_policy.contribution = options_.sum_losses ? 1.0 : mean;
  options.rows = parts[tower].rows;
  for (size_t i = 0; i < tower; ++i) options.first_row += parts[i].rows;
  options.batch_number = ctx.batch_number();
  options.training = mode == ModeKeys::kTrain;
  options.tower_optimizer_wanted = options_.tower_optimizer_wanted;
  options.combine_gradients = options_.exact;
  options.sync_batch_norm = options_.sync_batch_norm;
  return options;
}

EstimatorSpec ReplicatedCall::run_tower(const TowerBatch& part, ModeKeys mode, ModelContext& ctx) const {
  EstimatorSpec spec = call_model_fn(part, mode, ctx);
  spec.validate();
  require(spec.mode == mode, ctx.called(), ": the model_fn was called for mode ", to_string(mode),
          " and returned a spec for mode ", to_string(spec.mode));
  if (ctx.replicas().size() > 1) ctx.replicas().group().rendezvous().leave_sums(ctx.tower_index());
  if (mode == ModeKeys::kTrain) {
    check_complete(*spec.train_op, ctx);
    run_backward(ctx);
  }
  return spec;
}

// LibTorch's batch norm refuses a single row, and does not know whose it is.
EstimatorSpec ReplicatedCall::call_model_fn(const TowerBatch& part, ModeKeys mode, ModelContext& ctx) const {
  try {
    return model_fn_(on_device(part.features, ctx.device()), on_device(part.labels, ctx.device()), mode, ctx);
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    if (part.rows > 1 || text.find("more than 1 value per channel") == std::string::npos) throw;
    const char* remedy = options_.tower_optimizer_wanted
                             ? "set ReplicateOptions::min_rows_per_tower to 2, or batch_norm to kSync"
                             : "let the input_fn drop what is left at its end (drop_remainder), or use SyncBatchNorm";
    fail(ErrorKind::kInvalidArgument, ctx.called(), " has one row of the batch, and batch norm wants ", "two: ", remedy,
         " (", text, ")");
  }
}

bool ReplicatedCall::is_verified(size_t towers, ModeKeys mode, const ModelContext& ctx) const {
  const int64_t every = ctx.config().verify_towers_every;
  return every > 0 && mode == ModeKeys::kTrain && options_.exact && towers > 1 && ctx.global_step() % every == 0;
}

std::optional<LoneStep> ReplicatedCall::run_alone(const Batch& whole, ModelContext& ctx) const {
  const at::Device device = ctx.replicas().replica(0).device();
  auto alone = internal::run_alone(model_fn_, on_device(whole.features, device), on_device(whole.labels, device),
                                   options_.tower_optimizer_wanted, ctx);
  if (!alone && !told_of_random_->exchange(true)) {
    log_warning("verify_towers_every: the model_fn draws random numbers (dropout?), which differ between ",
                ctx.replicas().noun(), "s: such steps are not compared");
  }
  return alone;
}

EstimatorSpec ReplicatedCall::merge(std::vector<TowerResult> results, const std::vector<ModelContext*>& contexts,
                                    ModelContext& ctx, const std::optional<LoneStep>& alone) const {
  std::optional<TrainOp> updates;
  const std::vector<const StepContext*> towers(contexts.begin(), contexts.end());
  if (results[0].spec.mode == ModeKeys::kTrain) updates = merge_tower_updates(towers);
  if (alone) verify_towers(*alone, towers, results, *updates, ctx.config().verify_towers_tolerance);
  EstimatorSpec merged = merge_specs(std::move(results), ctx.replicas().noun());
  if (updates) {
    merged.train_op = in_order_of(*merged.train_op, contexts[0]->updates(), *updates);
  }
  ctx.set_summaries(contexts[0]->summaries());
  return merged;
}

}  // namespace belfry::internal
