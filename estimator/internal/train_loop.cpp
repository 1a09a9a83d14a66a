#include "estimator/internal/train_loop.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "core/error.h"
#include "core/log.h"
#include "estimator/hooks/nan_tensor_hook.h"
#include "estimator/hooks/step_counter_hook.h"
#include "estimator/hooks/stop_at_step_hook.h"
#include "estimator/hooks/summary_saver_hook.h"
#include "estimator/internal/checkpoint_names.h"
#include "estimator/internal/step_after.h"

namespace belfry::internal {
namespace {

// What no optimizer moves may hold infinities of the model's own: a mask, the lowest value so far.
bool is_sound(const Variable& variable) {
  const at::Tensor& value = variable.value();
  if (!at::isFloatingType(value.scalar_type())) return true;
  const bool moved = variable.kind() == VariableKind::kParameter || variable.kind() == VariableKind::kSlot;
  return moved ? at::isfinite(value).all().item<bool>() : !at::isnan(value).any().item<bool>();
}

bool all_sound(const VariableStore& store) {
  const std::vector<Variable*> variables = store.variables();
  return std::all_of(variables.begin(), variables.end(), [](const Variable* variable) { return is_sound(*variable); });
}

std::optional<int64_t> last_step_of(const TrainOptions& options, int64_t first_step) {
  if (options.steps) return step_after(first_step, *options.steps);
  return options.max_steps;
}

}  // namespace

TrainLoop::TrainLoop(Session& session, const RunConfig& config, const std::string& directory,
                     CheckpointManager& checkpoints, const TrainOptions& options, std::string saved_prefix)
    : session_(session),
      config_(config),
      directory_(directory),
      checkpoints_(checkpoints),
      options_(options),
      saved_prefix_(std::move(saved_prefix)),
      first_step_(session.store().global_step()),
      last_step_(last_step_of(options, first_step_)),
      signals_(config.handle_signals),
      started_(!saved_prefix_.empty()),
      saved_finished_(session.input_state() && session.input_state()->finished),
      loss_(std::numeric_limits<double>::quiet_NaN()) {}

TrainLoop::~TrainLoop() {
  for (const auto& saver : savers_) saver->detach();
}

TrainResult TrainLoop::run(const InputFn& input_fn) {
  source_.emplace(input_fn(session_.input_context()), session_.input_state(), options_.continue_input,
                  session_.batches_per_step());
  try {
    set_up_hooks();
    read_input();
    finished_ = reason_ != StopReason::kInterrupted;
    save_at_end();
    for (const auto& hook : hooks_) hook->end(*hook_session_);
    for (const auto& saver : savers_) saver->end(*hook_session_);
  } catch (...) {
    save_after_failure();
    throw;
  }
  session_.set_input_state(source_->state(finished_));
  if (events_) events_->flush();
  if (progress_) progress_->done(detail_);
  if (session_.store().global_step() > first_step_) log_info("Loss for final step: ", loss_);
  return result();
}

void TrainLoop::read_input() {
  while (true) {
    std::vector<Batch> batches = source_->next();
    batch_read_ = true;
    if (batches.empty()) break;
    const size_t read = batches.size();
    batches = with_examples(std::move(batches));
    if (!batches.empty() && batches.size() < read) warn_of_empty_batch();
    if (!step(batches)) break;
  }
  if (session_.store().global_step() == first_step_ && reason_ == StopReason::kInputEnded) {
    log_warning("train: the input gave no batch, so no step was made");
  }
}

// The variables are those of the last step that was committed: the steps since the last checkpoint are not lost. A
// later process goes on with the batch that failed; a later call in this one starts its input anew. Variables that are
// not finite are of no use to anybody: the next call goes back to the newest checkpoint.
void TrainLoop::save_after_failure() noexcept {
  try {
    if (progress_) progress_->done("an error");
    if (batch_read_) session_.set_input_state(source_->state(/*finished=*/true));
    if (session_.broken() || !started_ || !saved_prefix_.empty()) return;
    if (!all_sound(session_.store())) {
      session_.give_up();
      log_warning("train ends with an error; variables are not finite, so that they are not saved");
      return;
    }
    if (savers_.empty()) return;
    finished_ = false;
    save();
    log_warning("train ends with an error; the state of step ", session_.store().global_step(), " is saved in ",
                saved_prefix_);
  } catch (const std::exception& error) {
    log_warning("train ends with an error, and its state could not be saved: ", error.what());
  }
}

void TrainLoop::set_up_hooks() {
  const bool summaries = config_.save_summary_steps > 0 || config_.log_step_count_steps > 0;
  if (summaries) events_ = std::make_unique<EventFileWriter>(directory_, config_.file_system());
  if (events_) events_->add_session_start(first_step_);
  hook_session_ = std::make_unique<HookSession>(
      HookSession{ModeKeys::kTrain, config_, directory_, session_.store(), events_.get(), [this] { return save(); }});
  for (const auto& hook : options_.hooks) {
    require(hook != nullptr, "train: an absent hook was given");
    if (auto saver = std::dynamic_pointer_cast<CheckpointSaverHook>(hook)) {
      savers_.push_back(std::move(saver));
    } else {
      hooks_.push_back(hook);
    }
  }
  user_saver_ = !savers_.empty();
  if (last_step_) hooks_.push_back(std::make_shared<StopAtStepHook>(StopAtStepOptions{.last_step = last_step_}));
  if (config_.check_numerics) hooks_.push_back(std::make_shared<NanTensorHook>());
  if (config_.log_step_count_steps > 0) {
    progress_ = std::make_shared<ProgressHook>(ProgressOptions{.last_step = last_step_,
                                                               .first_step = first_step_,
                                                               .log_every = config_.log_step_count_steps,
                                                               .terminal = standard_error_is_terminal()});
    hooks_.push_back(progress_);
    hooks_.push_back(std::make_shared<StepCounterHook>(config_.log_step_count_steps));
  }
  if (config_.save_summary_steps > 0) {
    hooks_.push_back(std::make_shared<SummarySaverHook>(
        config_.save_summary_steps, std::nullopt, [this]() -> const auto& { return summaries_; }));
  }
  set_up_saver();
  begin_hooks(hooks_);
  for (const auto& saver : savers_) saver->begin(*hook_session_);
}

void TrainLoop::set_up_saver() {
  const bool wanted = config_.checkpoint_steps() || config_.checkpoint_secs();
  if (savers_.empty() && wanted) {
    savers_.push_back(std::make_shared<CheckpointSaverHook>(
        CheckpointSaverOptions{.save_steps = config_.checkpoint_steps(), .save_secs = config_.checkpoint_secs()}));
  }
  require(options_.saving_listeners.empty() || !savers_.empty(),
          "train: saving_listeners are given, but checkpoints are switched off");
  if (!savers_.empty()) savers_[0]->set_call_listeners(options_.saving_listeners);
}

void TrainLoop::begin_hooks(const Hooks& hooks) {
  for (const auto& hook : hooks) hook->begin(*hook_session_);
}

void TrainLoop::add_spec_hooks(const EstimatorSpec& spec) {
  if (spec_hooks_added_) return;
  spec_hooks_added_ = true;
  Hooks added = spec.training_hooks;
  added.insert(added.end(), spec.training_chief_hooks.begin(), spec.training_chief_hooks.end());
  for (const auto& hook : added) {
    if (auto saver = std::dynamic_pointer_cast<CheckpointSaverHook>(hook)) {
      const bool begun = !savers_.empty();
      if (!std::exchange(user_saver_, true)) savers_.clear();
      if (savers_.empty()) saver->set_call_listeners(options_.saving_listeners, begun);
      savers_.push_back(std::move(saver));
    } else {
      hooks_.push_back(hook);
    }
  }
  begin_hooks(added);
}

bool TrainLoop::step(const std::vector<Batch>& batches) {
  if (batches.empty()) return pass_over();
  RunContext context(session_.store().global_step());
  for (const auto& hook : hooks_) hook->before_run(context);
  SessionStep step = session_.run(batches, ModeKeys::kTrain);
  context.set_rows(step.rows);
  context.set_spec(&step.spec, step.spec.loss.item<double>());
  summaries_ = step.context->summaries();
  // Read ahead only where it matters: an input may wait for what the step does.
  session_.prepare(step, UpdateCommitter::accumulates(*step.spec.train_op) && source_->is_last());
  try {
    add_spec_hooks(step.spec);
    for (const auto& hook : hooks_) hook->before_apply(context);
    save_at_start();
  } catch (...) {
    session_.discard();
    throw;
  }
  commit(step, context);
  for (const auto& hook : hooks_) hook->after_run(context);
  note_stop(context);
  for (const auto& saver : savers_) saver->after_run(context);
  note_stop(context);
  return !finished_ && reason_ != StopReason::kInterrupted;
}

void TrainLoop::warn_of_empty_batch() {
  if (!std::exchange(passed_over_, true))
    log_warning("train: the input gave a batch without examples; it is passed over");
}

// A batch without examples is not a step.
bool TrainLoop::pass_over() {
  warn_of_empty_batch();
  source_->consume();
  note_stop(RunContext(session_.store().global_step()));
  return reason_ != StopReason::kInterrupted;
}

void TrainLoop::commit(SessionStep& step, RunContext& context) {
  if (context.vetoed()) {
    session_.discard();
    source_->consume();
    return;
  }
  saved_prefix_.clear();
  session_.commit(step);
  source_->consume();
  loss_ = context.loss();
  context.set_step(session_.store().global_step());
}

// Before the savers run, so that the checkpoint of the last step says that the call has come to its end.
void TrainLoop::note_stop(const RunContext& context) {
  if (finished_ || reason_ == StopReason::kInterrupted) return;
  if (context.stop_requested()) {
    finished_ = true;
    const bool reached = last_step_ && context.global_step() >= *last_step_;
    reason_ = !reached ? StopReason::kHook : options_.steps ? StopReason::kSteps : StopReason::kMaxSteps;
    detail_ = context.stop_reason();
  } else if (signals_.received() != 0) {
    reason_ = StopReason::kInterrupted;
    signals_.acknowledge();
    detail_ = concat("signal ", signals_.received(), " came; the same call (with max_steps) goes on from here");
  }
}

// Variables exist once the first step has asked for them: the checkpoint of the start is written before its commit.
void TrainLoop::save_at_start() {
  if (started_) return;
  started_ = true;
  for (const auto& saver : savers_) saver->save(session_.store().global_step());
}

// Also when only the word that the call has come to its end is missing in the last checkpoint.
void TrainLoop::save_at_end() {
  if (!started_ || savers_.empty()) return;
  if (!saved_prefix_.empty()) {
    if (saved_finished_ != finished_) save();
    return;
  }
  for (const auto& saver : savers_) saver->save(session_.store().global_step());
}

CheckpointEntries TrainLoop::state_entries() const {
  CheckpointEntries entries;
  for (const auto& [name, value] : session_.store().snapshot()) entries.push_back({name, value});
  return entries;
}

std::string TrainLoop::save() {
  if (!started_) {
    fail(ErrorKind::kFailedPrecondition, "save_checkpoint: before the first step of a fresh model there is nothing to ",
         "save; its variables are made by the model_fn");
  }
  CheckpointEntries entries = state_entries();
  add_input_state(source_->state(finished_), entries);
  saved_prefix_ = checkpoints_.save(session_.store().global_step(), entries);
  saved_finished_ = finished_;
  return saved_prefix_;
}

TrainResult TrainLoop::result() const {
  TrainResult result;
  result.reason = reason_;
  result.detail = detail_;
  result.global_step = session_.store().global_step();
  result.steps = result.global_step - first_step_;
  result.examples_seen = source_->examples_seen();
  result.epochs = source_->epochs();
  result.loss = loss_;
  return result;
}

}  // namespace belfry::internal
