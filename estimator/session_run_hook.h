// Code that runs at fixed places of train, evaluate and predict.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "../distribute/variable_store.h"
#include "estimator_spec.h"
#include "run_config.h"

namespace belfry {

class EventFileWriter;

// What hooks may look at, from begin() to end(). Everything in it outlives the call that runs the hooks.
struct HookSession {
  ModeKeys mode;
  const RunConfig& config;
  std::string directory;                         // where summaries of this call go
  VariableStore& store;                          // one-device values; written only through a model_fn
  EventFileWriter* events;                       // null when there are no summaries
  std::function<std::string()> save_checkpoint;  // saves now and gives the prefix; empty outside training
};

// One step, or one batch of evaluation or prediction.
class RunContext {
 public:
  explicit RunContext(int64_t global_step) : global_step_(global_step) {}

  // Committed steps: before the step in before_run and before_apply, with it in after_run.
  int64_t global_step() const { return global_step_; }
  // Rows of the batch.
  int64_t rows() const { return rows_; }
  // Loss, predictions and metrics as of one device; from before_apply on.
  // kFailedPrecondition in before_run.
  const EstimatorSpec& spec() const;
  // The loss as a number; from before_apply on, in training and evaluation.
  double loss() const { return loss_; }

  // Ends the loop after this step.
  void request_stop(std::string reason = "a hook asked for it");
  bool stop_requested() const { return stop_requested_; }
  const std::string& stop_reason() const { return stop_reason_; }
  // In before_apply: this step's updates are thrown away and the step is not counted.
  void veto() { vetoed_ = true; }
  bool vetoed() const { return vetoed_; }

  // For the framework.
  void set_step(int64_t global_step) { global_step_ = global_step; }
  void set_rows(int64_t rows) { rows_ = rows; }
  void set_spec(const EstimatorSpec* spec, double loss);

 private:
  int64_t global_step_;
  int64_t rows_ = 0;
  const EstimatorSpec* spec_ = nullptr;
  double loss_ = 0;
  std::string stop_reason_;
  bool stop_requested_ = false;
  bool vetoed_ = false;
};

// The order in a step: before_run of all hooks, model_fn, gradients, before_apply of all, commit (variables, buffers,
// assignments, global step: no user code), after_run of all, and the checkpoint saver last. Hooks run on the caller's
// thread. An exception ends the call; before the commit it leaves the variables of the step before.
class SessionRunHook {
 public:
  virtual ~SessionRunHook() = default;
  // Once, before the first step. Hooks of an EstimatorSpec are met after the first model_fn call.
  virtual void begin(HookSession&) {}
  virtual void before_run(RunContext&) {}
  virtual void before_apply(RunContext&) {}
  virtual void after_run(RunContext&) {}
  // After the last step; not when an exception ended the call.
  virtual void end(HookSession&) {}
};

}  // namespace belfry
