#include "towers/replicate_model_fn.h"

#include <optional>

#include "core/error.h"
#include "distribute/internal/on_device.h"
#include "distribute/strategy.h"
#include "estimator/internal/replicated_call.h"
#include "towers/internal/split_batch.h"

namespace belfry {
namespace {

class ReplicatedModelFn {
 public:
  ReplicatedModelFn(ModelFn model_fn, ReplicateOptions options)
      : options_(std::move(options)),
        devices_(parse_devices(options_.devices.empty() ? default_devices() : options_.devices)),
        call_(std::move(model_fn), call_options()) {
    require(static_cast<bool>(call_.model_fn()), "replicate_model_fn: no model_fn was given");
    require(is_valid(options_.loss_reduction) && options_.loss_reduction != LossReduction::kNone,
            "replicate_model_fn: tower losses have to be reduced; loss_reduction is ",
            to_string(options_.loss_reduction));
    require(options_.min_rows_per_tower >= 1, "replicate_model_fn: min_rows_per_tower is ", options_.min_rows_per_tower,
            "; 1 or more is wanted");
  }

  EstimatorSpec operator()(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) const {
    if (ctx.exporting()) return call_.model_fn()(features, labels, mode, ctx);
    require(!has_strategy() || in_cross_replica_context(), "replicate_model_fn: the model_fn runs under ",
            get_strategy().name(), ", which makes replicas itself; take one of the two");
    // In a tower: its threads are taken, and a second set of towers would wait for them for ever.
    require(!ctx.tower_optimizer_wanted(), "replicate_model_fn: this model_fn runs inside another replicate_model_fn; ",
            "wrap it once, with all devices");
    ctx.replicas().use(devices_, options_.variable_placement);
    if (devices_.size() == 1) {
      const at::Device device = devices_[0].device;
      if (const auto rows = internal::split_rows(features, labels, options_.shared_entries)) ctx.set_rows(*rows);
      return call_.model_fn()(internal::on_device(features, device), internal::on_device(labels, device), mode, ctx);
    }
    return call_(
        split(features, labels),
        [&] {
          return Batch{features, labels};
        },
        mode, ctx);
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

  internal::ReplicatedCallOptions call_options() const {
    return {.exact = is_exact(),
            .towers = static_cast<int>(devices_.size()),
            .sum_losses = options_.loss_reduction == LossReduction::kSum,
            .tower_optimizer_wanted = true,
            .sync_batch_norm = options_.batch_norm == TowerBatchNorm::kSync};
  }

  ReplicateOptions options_;
  std::vector<LogicalDevice> devices_;
  internal::ReplicatedCall call_;
};

}  // namespace

ModelFn replicate_model_fn(ModelFn model_fn, ReplicateOptions options) {
  return ReplicatedModelFn(std::move(model_fn), std::move(options));
}

ModelFnTransform replicate(ReplicateOptions options) {
  return [options = std::move(options)](ModelFn model_fn) { return replicate_model_fn(std::move(model_fn), options); };
}

}  // namespace belfry
