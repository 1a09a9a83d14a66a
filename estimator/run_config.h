// How an Estimator runs, apart from what its model is.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "../core/file_system.h"

namespace belfry {

class Strategy;

struct RunConfig {
  // --- Behaviour ---

  // Where checkpoints and summaries go. Empty: a fresh temporary folder, with a warning.
  std::string model_dir = {};
  // Initial values, dropout and whatever else draws random numbers depend on it alone.
  uint64_t random_seed = 1;
  // A checkpoint every so many steps or seconds; one of the two. Neither: every 600 seconds. 0 switches it off: then
  // only the end of a train call is saved by the caller's own hooks, or not at all.
  std::optional<int64_t> save_checkpoints_steps = {};
  std::optional<double> save_checkpoints_secs = {};
  // So many of the newest checkpoints stay; 0 keeps all.
  int64_t keep_checkpoint_max = 5;
  double keep_checkpoint_every_n_hours = 10000;
  // Whether a loss that is not a number ends training with ErrorKind::kNanLoss before it reaches a variable.
  bool check_numerics = true;
  // A checkpoint that lacks something the model asks for, and has something else instead, is taken for one of another
  // model, and refused; so is one whose variables another optimizer moved. Where that is meant (or the model uses parts
  // by turns and was stopped before it had used all), true lets what is missing begin with initial values, with a
  // warning.
  bool initialize_missing = false;
  // Whether SIGINT and SIGTERM end train() after the step at hand, with a checkpoint from which the same call (with
  // .max_steps) goes on.
  bool handle_signals = true;

  // Every so many steps of training over several towers, the batch is run once more on one tower, and training ends
  // with kFailedPrecondition when losses or gradients differ by more than the tolerance (relative); the message names
  // the loss. For a first run of a new model: such a step costs twice as much, and the model_fn is called once more.
  // Steps that draw random numbers (dropout) cannot be compared, which one warning says. 0: never.
  int64_t verify_towers_every = 0;
  double verify_towers_tolerance = 1e-4;

  // Over which devices train and evaluate run; null: on one, or as replicate_model_fn says. Of a strategy its kind,
  // devices and communication options are taken (random_seed is the seed): training and evaluation make one like it, so
  // that one may be given to several Estimators, and get_strategy() in the model_fn is another object. Each replica
  // takes a batch of the input_fn of its own, so that a step's batch is num_replicas_in_sync times as large; a last
  // step for which there are fewer runs on as many replicas. Loss, gradients, metrics and the update are then those of
  // one device with the large batch: under losses:: in any case; a loss of the model_fn's own making counts by its
  // replica's rows. Checkpoints are the same with and without. predict and export run on one replica.
  std::shared_ptr<const Strategy> train_distribute = {};
  std::shared_ptr<const Strategy> eval_distribute = {};

  // --- Cost ---

  // Scalars for TensorBoard every so many steps; 0: none.
  int64_t save_summary_steps = 100;
  // A line of progress, and global_step/sec, every so many steps; 0: none.
  int64_t log_step_count_steps = 100;

  // --- Surroundings ---

  // Null: posix_file_system(). Has to outlive the Estimator.
  FileSystem* files = nullptr;

  FileSystem& file_system() const { return files ? *files : posix_file_system(); }
  // kInvalidArgument, with field and value, for what cannot be right: both checkpoint settings, negative numbers.
  void validate() const;
  // What the two checkpoint settings come to; both empty when checkpoints are off.
  std::optional<int64_t> checkpoint_steps() const;
  std::optional<double> checkpoint_secs() const;
};

}  // namespace belfry
