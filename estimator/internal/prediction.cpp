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

class PredictionSource : public PredictRange::Source {
 public:
  PredictionSource(std::shared_ptr<Session> session, std::shared_ptr<const RunConfig> config, const InputFn& input_fn,
                   PredictOptions options)
      : session_(std::move(session)),
        config_(std::move(config)),
        options_(std::move(options)),
        dataset_(input_fn()),
        input_(dataset_.iterate()),
        hook_session_{ModeKeys::kPredict, *config_, config_->model_dir, session_->store(), nullptr, {}} {
    require(dataset_.batched(), "the input_fn's data set hands out single examples: end it with .batch(size)");
    for (const auto& hook : options_.hooks) hook->begin(hook_session_);
  }

  std::optional<Predictions> next() override {
    while (!options_.yield_single_examples || row_ == rows_) {
      std::optional<Batch> batch = ended_ ? std::nullopt : input_.next();
      if (!batch) {
        if (!std::exchange(ended_, true)) {
          for (const auto& hook : options_.hooks) hook->end(hook_session_);
        }
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
    for (const auto& hook : options_.hooks) hook->before_run(context);
    batch_ = predict_batch(*session_, batch.features, options_.predict_keys);
    row_ = 0;
    rows_ = options_.yield_single_examples ? batch_.rows() : 0;
    for (const auto& hook : options_.hooks) hook->after_run(context);
    ended_ = context.stop_requested();
  }

  std::shared_ptr<Session> session_;
  std::shared_ptr<const RunConfig> config_;
  PredictOptions options_;
  Dataset dataset_;
  DatasetIterator input_;
  HookSession hook_session_;
  Predictions batch_;
  int64_t row_ = 0;
  int64_t rows_ = 0;
  bool ended_ = false;
};

}  // namespace

Predictions predict_batch(Session& session, const Features& features, const std::vector<std::string>& keys) {
  const SessionStep step = session.run(features, Labels(), ModeKeys::kPredict);
  require(keys.empty() || !step.spec.predictions.contains(""),
          "predict: predict_keys are given, but the predictions are ", "a lone tensor without a name");
  Predictions chosen;
  std::string names;
  for (const auto& [name, value] : step.spec.predictions) {
    names += " " + name;
    if (keys.empty() || std::find(keys.begin(), keys.end(), name) != keys.end()) chosen.set(name, detached(value));
  }
  require(!chosen.empty(), "predict: none of the predict_keys is among the predictions:", names);
  return chosen;
}

std::unique_ptr<PredictRange::Source> make_prediction_source(std::shared_ptr<Session> session,
                                                             std::shared_ptr<const RunConfig> config,
                                                             const InputFn& input_fn, PredictOptions options) {
  return std::make_unique<PredictionSource>(std::move(session), std::move(config), input_fn, std::move(options));
}

}  // namespace belfry::internal
