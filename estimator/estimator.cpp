#include "estimator/estimator.h"

#include <c10/core/InferenceMode.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <iomanip>
#include <limits>

#include "checkpoint/checkpoint_manager.h"
#include "checkpoint/checkpoint_reader.h"
#include "checkpoint/checkpoint_state.h"
#include "core/hash64.h"
#include "core/log.h"
#include "estimator/internal/evaluation.h"
#include "estimator/internal/export_model.h"
#include "estimator/internal/prediction.h"
#include "estimator/internal/train_loop.h"
#include "estimator/internal/training_lock.h"

namespace belfry {
namespace {

std::string temporary_model_dir() {
  std::string pattern = (std::filesystem::temp_directory_path() / "belfry-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) fail(ErrorKind::kIo, "no temporary folder can be made like ", pattern);
  log_warning("no model_dir was given: checkpoints go to the temporary folder ", pattern);
  return pattern;
}

ModelFn checked(ModelFn model_fn) {
  require(static_cast<bool>(model_fn), "Estimator: no model_fn was given");
  return model_fn;
}

RunConfig checked(RunConfig config) {
  config.validate();
  if (config.model_dir.empty()) config.model_dir = temporary_model_dir();
  return config;
}

void check_steps(const char* call, const char* option, const std::optional<int64_t>& steps) {
  require(steps.value_or(1) > 0, call, ": ", option, " is ", steps.value_or(0), "; more than 0 is wanted");
}

void check_input(const char* call, const InputFn& input_fn) {
  require(static_cast<bool>(input_fn), call, ": no input_fn was given");
}

// Says while it lives that a train call is under way.
class Busy {
 public:
  explicit Busy(std::atomic<bool>& flag) : flag_(flag) {
    if (!flag.exchange(true)) return;
    fail(ErrorKind::kFailedPrecondition, "train: this Estimator is in a train call already. Its hooks, model_fn and ",
         "input cannot call train on it, and one thread at a time uses it");
  }
  ~Busy() { flag_ = false; }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  std::atomic<bool>& flag_;
};

}  // namespace

class Estimator::Impl {
 public:
  Impl(ModelFn model_fn, RunConfig config)
      : model_fn_(checked(std::move(model_fn))),
        config_(std::make_shared<const RunConfig>(checked(std::move(config)))),
        checkpoints_(config_->model_dir,
                     {.keep_checkpoint_max = config_->keep_checkpoint_max,
                      .keep_checkpoint_every_n_hours = config_->keep_checkpoint_every_n_hours},
                     config_->file_system()) {}

  const ModelFn& model_fn() const { return model_fn_; }
  const RunConfig& config() const { return *config_; }
  std::shared_ptr<const RunConfig> shared_config() const { return config_; }

  std::optional<std::string> latest() const {
    const LatestCheckpoint latest = checkpoints_.latest();
    for (const SkippedCheckpoint& skipped : latest.skipped) {
      log_warning("checkpoint ", skipped.path, " is passed over: ", skipped.reason);
    }
    if (!latest.prefix) require_none(latest.skipped);
    return latest.prefix;
  }

  // `use` of the newest checkpoint, if there is one, and of the next when another process, which trains, removes it.
  template <class Use>
  auto with_newest(const Use& use) const {
    std::optional<std::string> prefix = latest();
    while (prefix) {
      try {
        return use(prefix);
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::kNotFound && error.kind() != ErrorKind::kDataLoss) throw;
        const std::optional<std::string> now = latest();
        if (now == prefix) throw;
        prefix = now;
      }
    }
    return use(prefix);
  }

  TrainResult train(const InputFn& input_fn, const TrainOptions& options) {
    require(!(options.steps && options.max_steps),
            "train: steps and max_steps are both given; one of the two is wanted");
    check_steps("train", "steps", options.steps);
    check_steps("train", "max_steps", options.max_steps);
    const Busy busy(training_now_);
    const c10::InferenceMode never_inference(false);  // what is made under it cannot be trained
    config_->file_system().make_directories(config_->model_dir);
    const internal::TrainingLock lock(config_->file_system(), config_->model_dir);
    prepare_training();
    const int64_t step = training_->store().global_step();
    if (options.max_steps && step >= *options.max_steps) return already_there(step, *options.max_steps);
    internal::TrainLoop loop(*training_, *config_, config_->model_dir, checkpoints_, options, training_prefix_);
    try {
      TrainResult result = loop.run(input_fn);
      training_prefix_ = loop.saved_prefix();
      return result;
    } catch (...) {
      training_prefix_ = loop.saved_prefix();
      throw;
    }
  }

  // With the state of the checkpoint, of the newest one when none is given, or initial weights when there is none.
  std::shared_ptr<internal::Session> fresh(const std::optional<std::string>& checkpoint,
                                           const Strategy* distribute = nullptr) const {
    const auto restored = [this, distribute](const std::optional<std::string>& prefix) {
      auto session = std::make_shared<internal::Session>(model_fn_, *config_, distribute);
      if (prefix) {
        session->restore(*prefix);
      } else {
        log_warning("there is no checkpoint in ", config_->model_dir, ": the model has its initial values");
      }
      return session;
    };
    return checkpoint ? restored(checkpoint) : with_newest(restored);
  }

  // What evaluate and predict work in: kept while the checkpoint is the same and nobody else holds it.
  std::shared_ptr<internal::Session> inference(const std::optional<std::string>& checkpoint) {
    const std::string mark = checkpoint ? mark_of(*checkpoint) : newest_mark();
    const bool idle =
        inference_ && inference_.use_count() == 1 && !inference_->broken() && !inference_->was_assigned_to();
    if (idle && inference_mark_ == mark && !mark.empty()) return inference_;
    inference_ = fresh(checkpoint, config_->eval_distribute.get());
    inference_mark_ = mark;
    return inference_;
  }

  // What `use` makes of a reader of the newest checkpoint.
  template <class Use>
  auto read_newest(const char* call, const Use& use) const {
    return with_newest([&](const std::optional<std::string>& prefix) {
      if (!prefix) fail(ErrorKind::kFailedPrecondition, call, ": there is no checkpoint in ", config_->model_dir);
      return use(CheckpointReader(*prefix, config_->file_system()));
    });
  }

 private:
  // Damaged checkpoints are not none: a training from initial values would in the end remove them.
  void require_none(const std::vector<SkippedCheckpoint>& skipped) const {
    for (const SkippedCheckpoint& checkpoint : skipped) {
      if (!config_->file_system().exists(checkpoint.path + ".index")) continue;
      fail(ErrorKind::kDataLoss, "no checkpoint in ", config_->model_dir, " can be read; ", checkpoint.path, ": ",
           checkpoint.reason, ". Move its files away to begin with initial values");
    }
  }

  // Another where another checkpoint came into the place: the index holds the checksum of every variable.
  std::string mark_of(const std::string& prefix) const {
    try {
      return concat(prefix, " ", hash64(read_file(config_->file_system(), prefix + ".index")));
    } catch (const Error&) {
      return "";  // restore() says why
    }
  }

  // What the small file `checkpoint` says of the newest one: enough to see that nothing has changed, without reading
  // it.
  std::string newest_mark() const {
    try {
      const auto state = read_checkpoint_state(config_->model_dir, config_->file_system());
      if (!state || state->all_model_checkpoint_timestamps.empty()) return "";
      return concat(state->model_checkpoint_path, " ", std::setprecision(17),
                    state->all_model_checkpoint_timestamps.back());
    } catch (const Error&) {
      return "";  // latest() finds another way, and says so
    }
  }

  // The live session goes on when it is the newest checkpoint, or when it has moved on without one.
  void prepare_training() {
    const auto newest = latest();
    const bool saved_elsewhere = !training_prefix_.empty() && newest != training_prefix_;
    if (training_ && !training_->broken() && !saved_elsewhere) return;
    if (training_ && !training_->broken() && !newest) {
      log_warning("the checkpoints of ", config_->model_dir, " are gone, ", training_prefix_,
                  " among them: training starts from initial values");
    }
    if (training_ && training_->broken()) {
      log_warning("a step failed and left variables that are of no use: training goes on from ",
                  newest.value_or("initial values"));
    }
    auto session = std::make_unique<internal::Session>(model_fn_, *config_, config_->train_distribute.get());
    if (newest) {
      session->restore(*newest);
      log_info("training goes on from ", *newest);
    }
    training_ = std::move(session);
    training_prefix_ = newest.value_or("");
  }

  TrainResult already_there(int64_t step, int64_t max_steps) {
    log_warning("train made no step: ", config_->model_dir, " holds step ", step, " and max_steps is ", max_steps);
    TrainResult result;
    result.reason = StopReason::kMaxSteps;
    result.detail = concat("the checkpoint holds step ", step, " of ", max_steps, " already");
    result.global_step = step;
    if (training_->input_state()) result.examples_seen = training_->input_state()->examples_seen;
    result.loss = std::numeric_limits<double>::quiet_NaN();
    return result;
  }

  ModelFn model_fn_;
  std::shared_ptr<const RunConfig> config_;
  CheckpointManager checkpoints_;
  std::atomic<bool> training_now_{false};
  std::unique_ptr<internal::Session> training_;
  std::string training_prefix_;  // the checkpoint that holds the state of training_, if one does
  std::shared_ptr<internal::Session> inference_;
  std::string inference_mark_;
};

Estimator::Estimator(ModelFn model_fn, RunConfig config)
    : impl_(std::make_unique<Impl>(std::move(model_fn), std::move(config))) {}
Estimator::~Estimator() = default;
Estimator::Estimator(Estimator&&) noexcept = default;
Estimator& Estimator::operator=(Estimator&&) noexcept = default;

TrainResult Estimator::train(const InputFn& input_fn, const TrainOptions& options) {
  check_input("train", input_fn);
  return impl_->train(input_fn, options);
}

EvalResult Estimator::evaluate(const InputFn& input_fn, const EvaluateOptions& options) {
  check_input("evaluate", input_fn);
  check_steps("evaluate", "steps", options.steps);
  const auto session = impl_->inference(options.checkpoint_path);
  return internal::evaluate(*session, config(), input_fn, options, eval_dir(options.name), session->restored_from());
}

PredictRange Estimator::predict(const InputFn& input_fn, const PredictOptions& options) {
  check_input("predict", input_fn);
  return PredictRange(internal::make_prediction_source(impl_->inference(options.checkpoint_path),
                                                       impl_->shared_config(), input_fn, options));
}

Predictions Estimator::predict(const Features& features, const PredictOptions& options) {
  const auto session = impl_->inference(options.checkpoint_path);
  session->restart_batches();
  internal::PredictionHooks hooks(config(), session->store(), options.hooks);
  RunContext context(session->store().global_step());
  Predictions predictions = internal::predict_batch(*session, features, options.predict_keys, hooks, context);
  hooks.end();
  return predictions;
}

ExportResult Estimator::export_saved_model(const std::string& base,
                                           const ServingInputReceiverFn& serving_input_receiver_fn,
                                           const ExportOptions& options) {
  return experimental_export_all_saved_models(base, {{ModeKeys::kPredict, serving_input_receiver_fn}}, options);
}

ExportResult Estimator::experimental_export_all_saved_models(const std::string& base,
                                                             const InputReceiverFnMap& input_receiver_fn_map,
                                                             const ExportOptions& options) {
  require(!input_receiver_fn_map.empty(), "export: no mode was given; there are PREDICT and EVAL");
  if (input_receiver_fn_map.contains(ModeKeys::kTrain)) {
    fail(ErrorKind::kUnimplemented, "export: a graph of TRAIN is not written, for no graph here can update variables; ",
         "PREDICT and EVAL are, and checkpoints train on");
  }
  if (!options.checkpoint_path && !latest_checkpoint()) {
    fail(ErrorKind::kFailedPrecondition, "export_saved_model: there is no checkpoint in ", model_dir());
  }
  return internal::export_model(*impl_->fresh(options.checkpoint_path), config(), base, input_receiver_fn_map, options);
}

std::optional<std::string> Estimator::latest_checkpoint() const { return impl_->latest(); }

std::vector<std::string> Estimator::get_variable_names() const {
  return impl_->read_newest("get_variable_names", [](const CheckpointReader& reader) {
    std::vector<std::string> names;
    for (const CheckpointVariable& variable : reader.variables()) names.push_back(variable.name);
    return names;
  });
}

at::Tensor Estimator::get_variable_value(const std::string& name) const {
  return impl_->read_newest("get_variable_value", [&](const CheckpointReader& reader) { return reader.tensor(name); });
}

const std::string& Estimator::model_dir() const { return config().model_dir; }

std::string Estimator::eval_dir(const std::string& name) const {
  return join_path(model_dir(), name.empty() ? "eval" : "eval_" + name);
}

const RunConfig& Estimator::config() const { return impl_->config(); }
const ModelFn& Estimator::model_fn() const { return impl_->model_fn(); }

}  // namespace belfry
