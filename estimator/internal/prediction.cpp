#include "estimator/internal/prediction.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "core/error.h"

namespace belfry::internal {
namespace {

Value detached(const Value& value) { return value.is_tensor() ? Value(value.tensor().detach()) : value; }

// Row i without its batch dimension.
Value row_of(const Value& value, int64_t i) {
  if (value.is_tensor()) return value.tensor().select(0, i);
  const StringTensor row = value.strings().narrow(i, 1);
  return row.reshape(std::vector<int64_t>(row.sizes().begin() + 1, row.sizes().end()));
}

Predictions chosen(const Predictions& predictions, const std::vector<std::string>& keys) {
  require(keys.empty() || !predictions.contains(""), "predict: predict_keys are given, but the predictions are ",
          "a lone tensor without a name");
  Predictions chosen;
  std::string names;
  for (const auto& [name, value] : predictions) {
    names += " " + name;
    if (keys.empty() || std::find(keys.begin(), keys.end(), name) != keys.end()) chosen.set(name, detached(value));
  }
  require(!chosen.empty(), "predict: none of the predict_keys is among the predictions:", names);
  return chosen;
}

class PredictionSource : public PredictRange::Source {
 public:
  PredictionSource(std::shared_ptr<Session> session, std::shared_ptr<const RunConfig> config, const InputFn& input_fn,
                   PredictOptions options)
      : session_(std::move(session)),
        config_(std::move(config)),
        options_(std::move(options)),
        dataset_(input_fn()),
        input_(dataset_.iterate()),
        hooks_(*config_, session_->store(), options_.hooks) {
    require(dataset_.batched(), "the input_fn's data set hands out single examples: end it with .batch(size)");
    session_->restart_batches();
  }

  std::optional<Predictions> next() override {
    while (!options_.yield_single_examples || row_ == rows_) {
      std::optional<Batch> batch = ended_ ? std::nullopt : input_.next();
      if (!batch) {
        if (!std::exchange(told_end_, true)) hooks_.end();
        return std::nullopt;
      }
      run(*batch);
      if (!options_.yield_single_examples) return batch_;
    }
    Predictions row;
    for (const auto& [name, value] : batch_) row.set(name, row_of(value, row_));
    ++row_;
    return row;
  }

 private:
  void run(const Batch& batch) {
    RunContext context(session_->store().global_step());
    batch_ = predict_batch(*session_, batch.features, options_.predict_keys, hooks_, context);
    row_ = 0;
    rows_ = options_.yield_single_examples ? batch_.rows() : 0;
    ended_ = context.stop_requested();
  }

  std::shared_ptr<Session> session_;
  std::shared_ptr<const RunConfig> config_;
  PredictOptions options_;
  Dataset dataset_;
  DatasetIterator input_;
  PredictionHooks hooks_;
  Predictions batch_;
  int64_t row_ = 0;
  int64_t rows_ = 0;
  bool ended_ = false;
  bool told_end_ = false;
};

}  // namespace

PredictionHooks::PredictionHooks(const RunConfig& config, VariableStore& store, Hooks hooks)
    : session_{ModeKeys::kPredict, config, config.model_dir, store, nullptr, {}}, hooks_(std::move(hooks)) {
  for (const auto& hook : hooks_) {
    require(hook != nullptr, "predict: an absent hook was given");
    hook->begin(session_);
  }
}

void PredictionHooks::before_run(RunContext& context) {
  for (const auto& hook : hooks_) hook->before_run(context);
}

void PredictionHooks::after_run(RunContext& context) {
  if (!std::exchange(spec_hooks_added_, true)) {
    for (const auto& hook : context.spec().prediction_hooks) {
      hook->begin(session_);
      hooks_.push_back(hook);
    }
  }
  for (const auto& hook : hooks_) hook->after_run(context);
}

void PredictionHooks::end() {
  for (const auto& hook : hooks_) hook->end(session_);
}

Predictions predict_batch(Session& session, const Features& features, const std::vector<std::string>& keys,
                          PredictionHooks& hooks, RunContext& context) {
  hooks.before_run(context);
  const SessionStep step = session.run({{features, Labels()}}, ModeKeys::kPredict);
  Predictions predictions = chosen(step.spec.predictions, keys);
  context.set_rows(step.rows);
  context.set_spec(&step.spec, 0);
  hooks.after_run(context);
  return predictions;
}

std::unique_ptr<PredictRange::Source> make_prediction_source(std::shared_ptr<Session> session,
                                                             std::shared_ptr<const RunConfig> config,
                                                             const InputFn& input_fn, PredictOptions options) {
  return std::make_unique<PredictionSource>(std::move(session), std::move(config), input_fn, std::move(options));
}

}  // namespace belfry::internal
