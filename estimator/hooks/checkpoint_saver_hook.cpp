#include "estimator/hooks/checkpoint_saver_hook.h"

#include "core/error.h"

namespace belfry {

CheckpointSaverHook::CheckpointSaverHook(CheckpointSaverOptions options)
    : options_(std::move(options)), timer_(options_.save_steps, options_.save_secs) {}

void CheckpointSaverHook::add_listener(std::shared_ptr<CheckpointSaverListener> listener) {
  require(listener != nullptr, "CheckpointSaverHook: the listener is absent");
  options_.listeners.push_back(std::move(listener));
}

void CheckpointSaverHook::begin(HookSession& session) {
  save_ = session.save_checkpoint;
  timer_.update_last_triggered(session.store.global_step());
  for (const auto& listener : options_.listeners) listener->begin();
}

void CheckpointSaverHook::after_run(RunContext& context) {
  if (context.vetoed() || !timer_.should_trigger(context.global_step())) return;
  if (save(context.global_step())) context.request_stop("a checkpoint listener asked for it");
}

void CheckpointSaverHook::end(HookSession& session) {
  for (const auto& listener : options_.listeners) listener->end(session.store.global_step());
}

bool CheckpointSaverHook::save(int64_t global_step) {
  for (const auto& listener : options_.listeners) listener->before_save(global_step);
  const std::string prefix = save_();
  timer_.update_last_triggered(global_step);
  bool stop = false;
  for (const auto& listener : options_.listeners) stop = listener->after_save(global_step, prefix) || stop;
  return stop;
}

}  // namespace belfry
