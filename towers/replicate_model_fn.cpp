#include "towers/replicate_model_fn.h"

#include <ATen/ATen.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>

#include "core/log.h"
#include "distribute/internal/on_device.h"
#include "distribute/random_scope.h"
#include "optimizers/merge_updates.h"
#include "optimizers/optimizer.h"
#include "towers/internal/merge_specs.h"
#include "towers/internal/split_batch.h"
#include "towers/internal/verify_towers.h"

namespace belfry {
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

int64_t rows_of(const std::vector<internal::TowerBatch>& batches) {
  int64_t rows = 0;
  for (const internal::TowerBatch& batch : batches) rows += batch.rows;
  return rows;
}

class ReplicatedModelFn {
 public:
  ReplicatedModelFn(ModelFn model_fn, ReplicateOptions options)
      : model_fn_(std::move(model_fn)),
        options_(std::move(options)),
        devices_(parse_devices(options_.devices.empty() ? default_devices() : options_.devices)) {
    require(static_cast<bool>(model_fn_), "replicate_model_fn: no model_fn was given");
    require(is_valid(options_.loss_reduction) && options_.loss_reduction != LossReduction::kNone,
            "replicate_model_fn: tower losses have to be reduced; loss_reduction is ",
            to_string(options_.loss_reduction));
    require(options_.min_rows_per_tower >= 1, "replicate_model_fn: min_rows_per_tower is ", options_.min_rows_per_tower,
            "; 1 or more is wanted");
  }

  EstimatorSpec operator()(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) const {
    if (ctx.exporting()) return model_fn_(features, labels, mode, ctx);
    // In a tower: its threads are taken, and a second set of towers would wait for them for ever.
    require(!ctx.tower_optimizer_wanted(), "replicate_model_fn: this model_fn runs inside another replicate_model_fn; ",
            "wrap it once, with all devices");
    ctx.replicas().use(devices_, options_.variable_placement);
    if (devices_.size() == 1) {
      const at::Device device = devices_[0].device;
      if (const auto rows = internal::split_rows(features, labels, options_.shared_entries)) ctx.set_rows(*rows);
      return model_fn_(internal::on_device(features, device), internal::on_device(labels, device), mode, ctx);
    }
    const std::vector<internal::TowerBatch> batches = split(features, labels);
    ctx.set_rows(rows_of(batches));
    const int active = static_cast<int>(batches.size());
    ReplicaGroup& group = ctx.replicas().group();
    const std::optional<internal::LoneStep> alone =
        is_verified(active, mode, ctx) ? run_alone(features, labels, ctx) : std::nullopt;
    std::vector<ModelContext*> contexts;
    for (int i = 0; i < active; ++i) {
      StepContext::Options options = tower_options(batches, i, mode, ctx.batch_number(), group.rendezvous());
      options.record_losses = alone.has_value();
      contexts.push_back(&ctx.make_tower(i, options));
    }
    std::vector<internal::TowerResult> results(batches.size());
    ctx.replicas().run(active, [&](int i) {
      const auto k = static_cast<size_t>(i);
      results[k].policy = contexts[k]->loss_policy();
      results[k].rows = batches[k].rows;
      results[k].spec = run_tower(batches[k], mode, *contexts[k], group.rendezvous());
    });
    return merge(std::move(results), contexts, ctx, alone);
  }

 private:
  bool is_exact() const { return options_.weighting == TowerWeighting::kExact; }

  std::vector<internal::TowerBatch> split(const Features& features, const Labels& labels) const {
    return internal::split_batch(features, labels,
                                 {.towers = static_cast<int>(devices_.size()),
                                  .must_divide = !is_exact(),
                                  .min_rows_per_tower = options_.min_rows_per_tower,
                                  .shared_entries = options_.shared_entries});
  }

  StepContext::Options tower_options(const std::vector<internal::TowerBatch>& batches, int tower, ModeKeys mode,
                                     int64_t batch_number, Rendezvous& rendezvous) const {
    const int64_t rows = rows_of(batches);
    const auto share = static_cast<double>(batches[static_cast<size_t>(tower)].rows);
    const bool sum = options_.loss_reduction == LossReduction::kSum;
    StepContext::Options options;
    options.replica_count = static_cast<int>(batches.size());
    options.rendezvous = &rendezvous;
    options.loss_policy.row_weight = rows > 0 ? share / static_cast<double>(rows) : 1.0;
    options.loss_policy.exact = is_exact();
    const double mean = is_exact() ? options.loss_policy.row_weight : 1.0 / static_cast<double>(devices_.size());
    options.loss_policy.contribution = sum ? 1.0 : mean;
    options.rows = batches[static_cast<size_t>(tower)].rows;
    for (int i = 0; i < tower; ++i) options.first_row += batches[static_cast<size_t>(i)].rows;
    options.batch_number = batch_number;
    options.training = mode == ModeKeys::kTrain;
    options.tower_optimizer_wanted = true;
    options.combine_gradients = is_exact();
    options.sync_batch_norm = options_.batch_norm == TowerBatchNorm::kSync;
    return options;
  }

  EstimatorSpec run_tower(const internal::TowerBatch& batch, ModeKeys mode, ModelContext& ctx,
                          Rendezvous& rendezvous) const {
    const StepScope scope(ctx);
    const RandomScope random(ctx.random_seed());
    EstimatorSpec spec = call_model_fn(batch, mode, ctx);
    spec.validate();
    require(spec.mode == mode, "tower ", ctx.tower_index(), ": the model_fn was called for mode ", to_string(mode),
            " and returned a spec for mode ", to_string(spec.mode));
    rendezvous.leave_sums(ctx.tower_index());
    if (mode == ModeKeys::kTrain) {
      check_complete(*spec.train_op, ctx);
      run_backward(ctx);
    }
    return spec;
  }

  // LibTorch's batch norm refuses a single row, and does not know whose it is.
  EstimatorSpec call_model_fn(const internal::TowerBatch& batch, ModeKeys mode, ModelContext& ctx) const {
    try {
      return model_fn_(internal::on_device(batch.features, ctx.device()),
                       internal::on_device(batch.labels, ctx.device()), mode, ctx);
    } catch (const c10::Error& error) {
      const std::string text = error.what_without_backtrace();
      if (batch.rows > 1 || text.find("more than 1 value per channel") == std::string::npos) throw;
      fail(ErrorKind::kInvalidArgument, "tower ", ctx.tower_index(), " has one row of the batch, and batch norm wants ",
           "two: set ReplicateOptions::min_rows_per_tower to 2, or batch_norm to kSync (", text, ")");
    }
  }

  bool is_verified(int active, ModeKeys mode, const ModelContext& ctx) const {
    const int64_t every = ctx.config().verify_towers_every;
    return every > 0 && mode == ModeKeys::kTrain && is_exact() && active > 1 && ctx.global_step() % every == 0;
  }

  std::optional<internal::LoneStep> run_alone(const Features& features, const Labels& labels, ModelContext& ctx) const {
    const at::Device device = devices_[0].device;
    auto alone =
        internal::run_alone(model_fn_, internal::on_device(features, device), internal::on_device(labels, device), ctx);
    if (!alone && !told_of_random_->exchange(true)) {
      log_warning("verify_towers_every: the model_fn draws random numbers (dropout?), which differ between towers: ",
                  "such steps are not compared");
    }
    return alone;
  }

  EstimatorSpec merge(std::vector<internal::TowerResult> results, const std::vector<ModelContext*>& contexts,
                      ModelContext& ctx, const std::optional<internal::LoneStep>& alone) const {
    std::optional<TrainOp> updates;
    const std::vector<const StepContext*> towers(contexts.begin(), contexts.end());
    if (results[0].spec.mode == ModeKeys::kTrain) updates = merge_tower_updates(towers);
    if (alone) internal::verify_towers(*alone, towers, results, *updates, ctx.config().verify_towers_tolerance);
    EstimatorSpec merged = internal::merge_specs(std::move(results));
    if (updates) {
      merged.train_op = in_order_of(*merged.train_op, contexts[0]->updates(), *updates);
    }
    ctx.set_summaries(contexts[0]->summaries());
    return merged;
  }

  ModelFn model_fn_;
  ReplicateOptions options_;
  std::vector<LogicalDevice> devices_;
  std::shared_ptr<std::atomic<bool>> told_of_random_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace

ModelFn replicate_model_fn(ModelFn model_fn, ReplicateOptions options) {
  return ReplicatedModelFn(std::move(model_fn), std::move(options));
}

ModelFnTransform replicate(ReplicateOptions options) {
  return [options = std::move(options)](ModelFn model_fn) { return replicate_model_fn(std::move(model_fn), options); };
}

}  // namespace belfry
