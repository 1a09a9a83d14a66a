// Saves checkpoints during training.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../session_run_hook.h"
#include "second_or_step_timer.h"

namespace belfry {

// Told of every checkpoint of a training.
class CheckpointSaverListener {
 public:
  virtual ~CheckpointSaverListener() = default;
  virtual void begin() {}
  virtual void before_save(int64_t /*global_step*/) {}
  // True ends the training.
  virtual bool after_save(int64_t /*global_step*/, const std::string& /*prefix*/) { return false; }
  virtual void end(int64_t /*global_step*/) {}
};

struct CheckpointSaverOptions {
  std::optional<int64_t> save_steps = {};
  std::optional<double> save_secs = {};
  std::vector<std::shared_ptr<CheckpointSaverListener>> listeners = {};
};

// Given to train(), it takes the place of the saver that RunConfig asks for. Runs after all other hooks.
class CheckpointSaverHook : public SessionRunHook {
 public:
  // kInvalidArgument unless exactly one of save_steps and save_secs is given, above 0.
  explicit CheckpointSaverHook(CheckpointSaverOptions options);

  void begin(HookSession& session) override;
  void after_run(RunContext& context) override;
  void end(HookSession& session) override;

  // For the framework: listeners of the train call at hand, beside its own (`begun`: another saver has begun them
  // already); and the end of that call, however it came.
  void set_call_listeners(std::vector<std::shared_ptr<CheckpointSaverListener>> listeners, bool begun = false);
  void detach();
  // For the framework, which saves at the start and at the end: tells listeners and the timer. Gives back whether a
  // listener wants the training to end.
  bool save(int64_t global_step);

 private:
  template <class Call>
  void for_each_listener(const Call& call) const;

  CheckpointSaverOptions options_;
  std::vector<std::shared_ptr<CheckpointSaverListener>> call_listeners_;
  bool call_listeners_begun_ = false;
  SecondOrStepTimer timer_;
  std::function<std::string()> save_;
};

}  // namespace belfry
