// Runs the steps of a model_fn by hand, without files: what most tests of towers are made of.
#pragma once

#include <ATen/ATen.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "estimator/internal/session.h"
#include "estimator/model_fn.h"
#include "tests/support/check_fails.h"
#include "tests/testing.h"
#include "towers/replicate_model_fn.h"
#include "towers/tower_optimizer.h"

namespace belfry::testing {

// "cpu:0" ... of so many logical devices.
inline std::vector<std::string> cpus(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back("cpu:" + std::to_string(i));
  return names;
}

class TowerRunner {
 public:
  explicit TowerRunner(ModelFn model_fn, uint64_t seed = 1)
      : config_(std::make_unique<RunConfig>(RunConfig{.model_dir = "unused", .random_seed = seed})),
        session_(std::make_unique<internal::Session>(std::move(model_fn), *config_)) {}

  // One committed step; its loss, as of before the update.
  double train(const Features& features, const Labels& labels, bool ends_input = false) {
    internal::SessionStep step = session_->run({{features, labels}}, ModeKeys::kTrain);
    const double loss = step.spec.loss.item<double>();
    session_->prepare(step, ends_input);
    session_->commit(step);
    return loss;
  }
  // Forward and backward passes whose updates are thrown away.
  EstimatorSpec train_and_discard(const Features& features, const Labels& labels) {
    internal::SessionStep step = session_->run({{features, labels}}, ModeKeys::kTrain);
    session_->discard();
    return step.spec;
  }
  EstimatorSpec eval(const Features& features, const Labels& labels) {
    return session_->run({{features, labels}}, ModeKeys::kEval).spec;
  }
  EstimatorSpec predict(const Features& features) { return session_->run({{features, Labels()}}, ModeKeys::kPredict).spec; }

  at::Tensor value(const std::string& name) const {
    const Variable* variable = session_->store().find(name);
    if (!variable) fail(ErrorKind::kNotFound, "no variable '", name, "'");
    return variable->value();
  }
  double number(const std::string& name) const { return value(name).item<double>(); }
  VariableStore& store() const { return session_->store(); }

 private:
  std::unique_ptr<RunConfig> config_;  // has to stay where it is
  std::unique_ptr<internal::Session> session_;
};

inline double metric_value(const EstimatorSpec& spec, const std::string& name) {
  for (const auto& [known, metric] : spec.eval_metric_ops) {
    if (known == name) return metric.value();
  }
  fail(ErrorKind::kNotFound, "no metric '", name, "'");
}

}  // namespace belfry::testing
