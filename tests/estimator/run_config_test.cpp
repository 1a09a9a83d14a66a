#include "estimator/run_config.h"

#include "tests/testing.h"

#include "core/error.h"

using belfry::RunConfig;
using Catch::Contains;

TEST_CASE("a RunConfig has TensorFlow's defaults", "[estimator][E28]") {
  const RunConfig config;
  CHECK(config.model_dir.empty());
  CHECK(config.save_summary_steps == 100);
  CHECK(config.log_step_count_steps == 100);
  CHECK(config.keep_checkpoint_max == 5);
  CHECK(config.keep_checkpoint_every_n_hours == 10000);
  CHECK_FALSE(config.save_checkpoints_steps);
  CHECK_FALSE(config.save_checkpoints_secs);
  CHECK(config.checkpoint_secs() == 600.0);
  CHECK_FALSE(config.checkpoint_steps());
  config.validate();
}

TEST_CASE("what a RunConfig has beside TensorFlow's is on by default, and repeatable", "[estimator][E18][E28]") {
  const RunConfig config;
  CHECK(config.random_seed == 1);
  CHECK(config.check_numerics);
  CHECK(config.handle_signals);
  CHECK(config.files == nullptr);
  CHECK(&config.file_system() == &belfry::posix_file_system());
}

TEST_CASE("checkpoints go by steps or by seconds, or are off", "[estimator][E28][E30]") {
  RunConfig config{.save_checkpoints_steps = 7};
  CHECK(config.checkpoint_steps() == 7);
  CHECK_FALSE(config.checkpoint_secs());
  config.save_checkpoints_steps = 0;
  CHECK_FALSE(config.checkpoint_steps());
  CHECK_FALSE(config.checkpoint_secs());
  config.save_checkpoints_steps = {};
  config.save_checkpoints_secs = 0;
  CHECK_FALSE(config.checkpoint_secs());
  config.save_checkpoints_secs = 2.5;
  CHECK(config.checkpoint_secs() == 2.5);
  config.save_checkpoints_steps = 3;
  CHECK_THROWS_WITH(config.validate(), Contains("(3)") && Contains("(2.5)"));
}

TEST_CASE("values that cannot be right are refused with field and value", "[estimator][E29]") {
  const auto refused = [](const RunConfig& config, const std::string& words) {
    CHECK_THROWS_WITH(config.validate(), Contains(words));
  };
  refused({.save_checkpoints_steps = -1}, "save_checkpoints_steps is -1");
  refused({.save_checkpoints_secs = -0.5}, "save_checkpoints_secs is -0.5");
  refused({.save_checkpoints_secs = std::numeric_limits<double>::quiet_NaN()}, "save_checkpoints_secs is nan");
  refused({.keep_checkpoint_max = -2}, "keep_checkpoint_max is -2");
  refused({.keep_checkpoint_every_n_hours = 0}, "keep_checkpoint_every_n_hours is 0");
  refused({.save_summary_steps = -3}, "save_summary_steps is -3");
  refused({.log_step_count_steps = -4}, "log_step_count_steps is -4");
}
