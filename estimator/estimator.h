// Trains, evaluates, predicts with and exports one model_fn.
//
// Words used here. A *step* is one run of the train op: one batch, one commit, one more global_step. *Steps* and
// *max_steps* count them; an *epoch* is a pass over the input. A *mode* says what the model_fn is called for: TRAIN
// wants a loss and a train op, EVAL a loss and metrics, PREDICT predictions. A *tower* (or replica) is one copy of the
// computation, on its own thread; the variables are shared. A *checkpoint* is all state under a model directory; an
// *export* is what others serve without this program.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../data/input_fn.h"
#include "../export/saved_model_export.h"
#include "model_fn.h"
#include "predict_range.h"
#include "results.h"
#include "session_run_hook.h"

namespace belfry {

class CheckpointSaverListener;

struct TrainOptions {
  // One of the two, or neither: until the input ends. `steps` more than now; or until global_step is `max_steps`.
  std::optional<int64_t> steps = {};
  std::optional<int64_t> max_steps = {};
  Hooks hooks = {};
  std::vector<std::shared_ptr<CheckpointSaverListener>> saving_listeners = {};
  // Go on in the input where the last train call came to its end, instead of from its start. (A call that was killed or
  // interrupted is always gone on with.)
  bool continue_input = false;
};

struct EvaluateOptions {
  std::optional<int64_t> steps = {};  // batches; empty: until the input ends
  Hooks hooks = {};
  std::optional<std::string> checkpoint_path = {};  // empty: the newest
  std::string name = {};                            // of the evaluation; summaries go to eval_NAME
};

struct PredictOptions {
  // Only these predictions; empty: all.
  std::vector<std::string> predict_keys = {};
  Hooks hooks = {};
  std::optional<std::string> checkpoint_path = {};
  // One Predictions a row, without batch dimension; false: one a batch.
  bool yield_single_examples = true;
};

struct ExportOptions {
  std::optional<std::string> checkpoint_path = {};
  std::map<std::string, std::string> assets_extra = {};
  // ExportFormat::kOnnx is written when it is asked for here.
  std::vector<ExportFormat> formats = {ExportFormat::kTorchScript, ExportFormat::kSavedModel};
  SavedModelOptions saved_model = {};  // as_text, and whether weights are variables
  // Beyond it the weights of ONNX lie in a file of their own beside the model.
  int64_t onnx_inline_bytes_limit = 1'900'000'000;
};

using InputReceiverFnMap = std::map<ModeKeys, ServingInputReceiverFn>;

// Movable, not copyable. One thread at a time uses an object; several objects are independent, in one process too, as
// long as one alone trains in a model directory. Subclass it by handing a model_fn to its constructor.
class Estimator {
 public:
  // kInvalidArgument for a config that cannot be right; the model directory is made at the first use.
  explicit Estimator(ModelFn model_fn, RunConfig config = {});
  // `model_fn` may have no labels, or a last argument `const P& params`, which is given here and held by value.
  template <class F>
  requires(internal::FullModelFn<F> || internal::LabelFreeModelFn<F>) explicit Estimator(F model_fn,
                                                                                         RunConfig config = {})
      : Estimator(make_model_fn(std::move(model_fn)), std::move(config)) {}
  template <class F, class P>
  requires internal::ModelFnWithParams<F, P> Estimator(F model_fn, RunConfig config, P params)
      : Estimator(make_model_fn(std::move(model_fn), std::move(params)), std::move(config)) {}
  virtual ~Estimator();
  Estimator(Estimator&&) noexcept;
  Estimator& operator=(Estimator&&) noexcept;

  // Goes on from the newest checkpoint that can be read, or from initial values. Saves at the start, at the config's
  // intervals and at the end. Errors: kInvalidArgument for options that cannot be right, or a checkpoint that does not
  // fit the model; kFailedPrecondition inside another train call of this object (from a hook, the model_fn or input),
  // and while another Estimator or process, which the message names, trains in the model_dir (evaluate, predict and
  // exports never mind that); kDataLoss, from all that read the newest checkpoint, when there are some and none can be
  // read; kNanLoss; whatever the model_fn, the input and hooks throw. After one the Estimator can be used on.
  TrainResult train(const InputFn& input_fn, const TrainOptions& options = {});
  // Means and metrics over the input with the checkpoint's weights; without a checkpoint, with initial ones. `loss` is
  // the mean of the batches' losses. Empty input gives zeros and a warning.
  EvalResult evaluate(const InputFn& input_fn, const EvaluateOptions& options = {});
  // Lazy: batches are computed as the range is read. Labels of the input are dropped. The range may outlive this.
  PredictRange predict(const InputFn& input_fn, const PredictOptions& options = {});
  // One batch at once.
  Predictions predict(const Features& features, const PredictOptions& options = {});
  // Writes BASE/<seconds>/ from the checkpoint, as one tower, and gives its path and what was written.
  // kFailedPrecondition without a checkpoint; kInvalidArgument, with the names, for variables that it lacks.
  ExportResult export_saved_model(const std::string& base, const ServingInputReceiverFn& serving_input_receiver_fn,
                                  const ExportOptions& options = {});
  // The same with a graph for each mode: "serve" of PREDICT, and "eval" of EVAL, whose receiver is one of
  // build_supervised_input_receiver_fn. The signature "eval" gives loss, predictions/KEY, metrics/KEY/value and
  // metrics/KEY/update_op, all of the rows of one request. Weights are variables, stored once. Other formats than
  // SavedModel hold PREDICT alone. kInvalidArgument for no mode; kUnimplemented for TRAIN.
  ExportResult experimental_export_all_saved_models(const std::string& base,
                                                    const InputReceiverFnMap& input_receiver_fn_map,
                                                    const ExportOptions& options = {});

  // Path of the newest checkpoint that can be read.
  std::optional<std::string> latest_checkpoint() const;
  // Of the newest checkpoint, optimizer slots and global_step included. kFailedPrecondition without one; kNotFound.
  std::vector<std::string> get_variable_names() const;
  at::Tensor get_variable_value(const std::string& name) const;

  const std::string& model_dir() const;
  // Where evaluate with that name writes its summaries.
  std::string eval_dir(const std::string& name = "") const;
  const RunConfig& config() const;
  const ModelFn& model_fn() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace belfry
