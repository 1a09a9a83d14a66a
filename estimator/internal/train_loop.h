// One call of train().
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "checkpoint/checkpoint_manager.h"
#include "estimator/estimator.h"
#include "estimator/hooks/checkpoint_saver_hook.h"
#include "estimator/internal/batch_source.h"
#include "estimator/internal/progress_hook.h"
#include "estimator/internal/session.h"
#include "estimator/internal/signals.h"
#include "estimator/summaries/event_writer.h"

namespace belfry::internal {

// Made for one call and used by its thread. Session, config and manager belong to the Estimator.
class TrainLoop {
 public:
  // `saved_prefix`: the checkpoint that the session's state is already saved in, or empty.
  TrainLoop(Session& session, const RunConfig& config, const std::string& directory, CheckpointManager& checkpoints,
            const TrainOptions& options, std::string saved_prefix);

  ~TrainLoop();
  TrainLoop(const TrainLoop&) = delete;
  TrainLoop& operator=(const TrainLoop&) = delete;

  TrainResult run(const InputFn& input_fn);
  // Of the last checkpoint that holds the session's state; empty when it moved on since.
  const std::string& saved_prefix() const { return saved_prefix_; }

 private:
  void read_input();
  void save_after_failure() noexcept;
  void set_up_hooks();
  void set_up_saver();
  void begin_hooks(const Hooks& hooks);
  void add_spec_hooks(const EstimatorSpec& spec);
  // False when training is to end.
  bool step(const std::vector<Batch>& batches);
  bool pass_over();
  void warn_of_empty_batch();
  void commit(SessionStep& step, RunContext& context);
  void save_at_start();
  void save_at_end();
  std::string save();
  CheckpointEntries state_entries() const;
  TrainResult result() const;
  void note_stop(const RunContext& context);

  Session& session_;
  const RunConfig& config_;
  std::string directory_;
  CheckpointManager& checkpoints_;
  const TrainOptions& options_;
  std::string saved_prefix_;
  const int64_t first_step_;
  std::optional<int64_t> last_step_;

  std::optional<BatchSource> source_;
  std::unique_ptr<EventFileWriter> events_;
  std::unique_ptr<HookSession> hook_session_;
  Hooks hooks_;
  std::vector<std::shared_ptr<CheckpointSaverHook>> savers_;  // run after all others
  std::shared_ptr<ProgressHook> progress_;
  Summaries summaries_;  // of the step at hand
  SignalWatch signals_;
  bool spec_hooks_added_ = false;
  bool started_ = false;  // the checkpoint of the start is there
  bool saved_finished_;   // what the last checkpoint says of finished_
  bool finished_ = false;
  bool user_saver_ = false;
  bool passed_over_ = false;
  bool batch_read_ = false;
  StopReason reason_ = StopReason::kInputEnded;
  std::string detail_ = "the input has no more batches";
  double loss_;
};

}  // namespace belfry::internal
