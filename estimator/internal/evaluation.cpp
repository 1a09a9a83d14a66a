#include "estimator/internal/evaluation.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "core/error.h"
#include "core/log.h"
#include "estimator/internal/batch_source.h"
#include "estimator/summaries/event_writer.h"

namespace belfry::internal {
namespace {

// The metrics over all batches so far.
class Totals {
 public:
  void add(const EstimatorSpec& spec, int64_t rows) {
    ++batches_;
    rows_ += rows;
    loss_ += spec.loss.item<double>();
    for (const auto& [name, metric] : spec.eval_metric_ops) {
      Metric batch = metric;
      batch.set_rows(static_cast<double>(rows));
      const auto known = std::find_if(metrics_.begin(), metrics_.end(), [&](const auto& m) { return m.first == name; });
      if (known == metrics_.end()) {
        metrics_.emplace_back(name, std::move(batch));
      } else {
        known->second.merge(batch);
      }
    }
  }

  EvalResult result(int64_t global_step) const {
    EvalResult result;
    const double batches = static_cast<double>(std::max<int64_t>(1, batches_));
    for (const auto& [name, metric] : metrics_) result.set(name, metric.result().cpu());
    result.set("loss", at::full({}, loss_ / batches, at::kDouble));
    result.set_counts(global_step, rows_);
    return result;
  }

  int64_t batches() const { return batches_; }

 private:
  EvalMetricOps metrics_;
  double loss_ = 0;
  int64_t batches_ = 0;
  int64_t rows_ = 0;
};

void write_summaries(const EvalResult& result, const std::string& directory, const std::string& checkpoint,
                     FileSystem& files) {
  EventFileWriter events(directory, files);
  std::vector<std::pair<std::string, double>> scalars;
  for (const auto& [name, value] : result) {
    if (name == "global_step") continue;
    if (value.numel() == 1) {
      scalars.emplace_back(name, value.item<double>());
    } else {
      events.add_tensor(name, value, result.global_step());
    }
  }
  events.add_scalars(scalars, result.global_step());
  if (!checkpoint.empty()) events.add_text("checkpoint_path", checkpoint, result.global_step());
  events.flush();
}

}  // namespace

EvalResult evaluate(Session& session, const RunConfig& config, const InputFn& input_fn, const EvaluateOptions& options,
                    const std::string& directory, const std::string& checkpoint) {
  const Dataset dataset = input_fn(session.input_context());
  require(dataset.batched(), "the input_fn's data set hands out single examples: end it with .batch(size)");
  DatasetIterator input = dataset.iterate();
  HookSession hook_session{ModeKeys::kEval, config, directory, session.store(), nullptr, {}};
  Hooks hooks = options.hooks;
  for (const auto& hook : hooks) {
    require(hook != nullptr, "evaluate: an absent hook was given");
    hook->begin(hook_session);
  }
  session.restart_batches();
  Totals totals;
  bool first = true;
  const int64_t global_step = session.store().global_step();
  while (!options.steps || totals.batches() < *options.steps) {
    std::vector<Batch> batches = read_batches(input, session.batches_per_step());
    if (batches.empty()) break;
    batches = with_examples(std::move(batches));
    if (batches.empty()) continue;  // nothing to measure
    RunContext context(global_step);
    for (const auto& hook : hooks) hook->before_run(context);
    SessionStep step = session.run(batches, ModeKeys::kEval);
    if (std::exchange(first, false)) {
      for (const auto& hook : step.spec.evaluation_hooks) hook->begin(hook_session);
      hooks.insert(hooks.end(), step.spec.evaluation_hooks.begin(), step.spec.evaluation_hooks.end());
    }
    context.set_rows(step.rows);
    context.set_spec(&step.spec, step.spec.loss.item<double>());
    totals.add(step.spec, step.rows);
    for (const auto& hook : hooks) hook->after_run(context);
    if (context.stop_requested()) break;
  }
  if (totals.batches() == 0) log_warning("evaluate: the input gave no batch, so the loss is 0");
  EvalResult result = totals.result(global_step);
  for (const auto& hook : hooks) hook->end(hook_session);
  try {
    write_summaries(result, directory, checkpoint, config.file_system());
  } catch (const Error& error) {
    log_warning("evaluate: the results could not be written as summaries: ", error.what());
  }
  return result;
}

}  // namespace belfry::internal
