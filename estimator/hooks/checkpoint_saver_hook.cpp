#include "estimator/hooks/checkpoint_saver_hook.h"

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace belfry {

CheckpointSaverHook::CheckpointSaverHook(CheckpointSaverOptions options)
    : options_(std::move(options)), timer_(options_.save_steps, options_.save_secs) {}

void CheckpointSaverHook::set_call_listeners(std::vector<std::shared_ptr<CheckpointSaverListener>> listeners,
                                             bool begun) {
  const bool all_there = std::all_of(listeners.begin(), listeners.end(), [](const auto& l) { return l != nullptr; });
  require(all_there, "CheckpointSaverHook: a listener is absent");
  call_listeners_ = std::move(listeners);
  call_listeners_begun_ = begun;
}

void CheckpointSaverHook::detach() {
  call_listeners_.clear();
  save_ = nullptr;
}

template <class Call>
void CheckpointSaverHook::for_each_listener(const Call& call) const {
  for (const auto& listener : options_.listeners) call(*listener);
  for (const auto& listener : call_listeners_) call(*listener);
}

void CheckpointSaverHook::begin(HookSession& session) {
  save_ = session.save_checkpoint;
  timer_.update_last_triggered(session.store.global_step());
  for (const auto& listener : options_.listeners) listener->begin();
  if (std::exchange(call_listeners_begun_, true)) return;
  for (const auto& listener : call_listeners_) listener->begin();
}

void CheckpointSaverHook::after_run(RunContext& context) {
  if (context.vetoed() || !timer_.should_trigger(context.global_step())) return;
  if (save(context.global_step())) context.request_stop("a checkpoint listener asked for it");
}

void CheckpointSaverHook::end(HookSession& session) {
  for_each_listener([&](CheckpointSaverListener& listener) { listener.end(session.store.global_step()); });
}

bool CheckpointSaverHook::save(int64_t global_step) {
  for_each_listener([&](CheckpointSaverListener& listener) { listener.before_save(global_step); });
  const std::string prefix = save_();
  timer_.update_last_triggered(global_step);
  bool stop = false;
  for_each_listener(
      [&](CheckpointSaverListener& listener) { stop = listener.after_save(global_step, prefix) || stop; });
  return stop;
}

}  // namespace belfry
