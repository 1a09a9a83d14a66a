#include "estimator/run_config.h"

#include "core/error.h"

namespace belfry {

void RunConfig::validate() const {
  require(!(save_checkpoints_steps && save_checkpoints_secs), "RunConfig: save_checkpoints_steps (",
          save_checkpoints_steps.value_or(0), ") and save_checkpoints_secs (", save_checkpoints_secs.value_or(0),
          ") are both given; one of the two is wanted");
  const auto not_negative = [](const char* field, double value) {
    require(value >= 0, "RunConfig: ", field, " is ", value, "; 0 or more is wanted");
  };
  not_negative("save_checkpoints_steps", static_cast<double>(save_checkpoints_steps.value_or(0)));
  not_negative("save_checkpoints_secs", save_checkpoints_secs.value_or(0));
  not_negative("keep_checkpoint_max", static_cast<double>(keep_checkpoint_max));
  not_negative("save_summary_steps", static_cast<double>(save_summary_steps));
  not_negative("log_step_count_steps", static_cast<double>(log_step_count_steps));
  not_negative("verify_towers_every", static_cast<double>(verify_towers_every));
  not_negative("verify_towers_tolerance", verify_towers_tolerance);
  require(keep_checkpoint_every_n_hours > 0, "RunConfig: keep_checkpoint_every_n_hours is ",
          keep_checkpoint_every_n_hours, "; more than 0 is wanted");
}

std::optional<int64_t> RunConfig::checkpoint_steps() const {
  if (save_checkpoints_steps.value_or(0) == 0) return std::nullopt;
  return save_checkpoints_steps;
}

std::optional<double> RunConfig::checkpoint_secs() const {
  if (save_checkpoints_steps || save_checkpoints_secs == 0.0) return std::nullopt;
  return save_checkpoints_secs.value_or(600);
}

}  // namespace belfry
