#include "estimator/hooks/logging_tensor_hook.h"

#include <ATen/ATen.h>

#include "core/error.h"
#include "core/log.h"

namespace belfry {
namespace {

std::string text_of(const at::Tensor& value) {
  if (value.numel() == 1) return concat(value.item<double>());
  std::ostringstream out;
  out << value.cpu();
  return std::move(out).str();
}

}  // namespace

LoggingTensorHook::LoggingTensorHook(LoggingTensorOptions options) : options_(std::move(options)) {
  require(!options_.tensors.empty(), "LoggingTensorHook: no names of tensors are given");
  const bool timed = options_.every_n_iter || options_.every_n_secs;
  require(timed || options_.at_end, "LoggingTensorHook: every_n_iter, every_n_secs or at_end is wanted");
  if (timed) timer_.emplace(options_.every_n_iter, options_.every_n_secs);
}

void LoggingTensorHook::begin(HookSession&) {
  iteration_ = 0;
  last_.clear();
  if (timer_) timer_.emplace(options_.every_n_iter, options_.every_n_secs);
}

void LoggingTensorHook::after_run(RunContext& context) {
  const bool due = timer_ && timer_->should_trigger(iteration_);
  if (due || options_.at_end) last_ = values_of(context);
  if (due) {
    timer_->update_last_triggered(iteration_);
    log(last_);
  }
  ++iteration_;
}

void LoggingTensorHook::end(HookSession&) {
  if (options_.at_end && !last_.empty()) log(last_);
}

std::map<std::string, at::Tensor> LoggingTensorHook::values_of(const RunContext& context) const {
  std::map<std::string, at::Tensor> values;
  for (const std::string& name : options_.tensors) {
    const bool is_loss = name == "loss" && context.spec().loss.defined();
    values[name] = (is_loss ? context.spec().loss : context.spec().predictions[name]).detach();
  }
  return values;
}

void LoggingTensorHook::log(const std::map<std::string, at::Tensor>& values) {
  if (options_.formatter) return log_info(options_.formatter(values));
  std::string text;
  for (const auto& [name, value] : values) text += concat(text.empty() ? "" : ", ", name, " = ", text_of(value));
  const auto seconds = timer_ ? timer_->elapsed_secs() : std::nullopt;
  if (seconds) text += concat(" (", *seconds, " sec)");
  log_info(text);
}

}  // namespace belfry
