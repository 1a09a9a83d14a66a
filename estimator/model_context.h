// What a model_fn is given beside data and mode.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../distribute/replica_set.h"
#include "../distribute/step_context.h"
#include "mode_keys.h"
#include "run_config.h"
#include "summaries/summary.h"

namespace belfry {

// One call of a model_fn, on one tower. Modules and variables are made by StepContext. Used by the thread that runs the
// call, and only while it runs.
class ModelContext : public StepContext {
 public:
  ModelContext(ReplicaSet& replicas, int tower, ModeKeys mode, const RunConfig& config, Options options);
  ~ModelContext() override;

  ModeKeys mode() const { return mode_; }
  const RunConfig& config() const { return config_; }
  // Whether this call is traced for an export, which is always a model of one tower on the CPU.
  bool exporting() const { return exporting_; }
  void set_exporting() { exporting_ = true; }

  // Notes a scalar for TensorBoard, written when this step is one that RunConfig::save_summary_steps picks. `value` is
  // one number. With several towers the first one's counts.
  void summary(const std::string& tag, const at::Tensor& value);
  // The same for the distribution of all elements of a tensor of real numbers, and for the share of them that are zero.
  // Steps that are not picked pay for no more than the note. An element that is not finite when its histogram is
  // written is kInvalidArgument, with the tag, from the training.
  void summary_histogram(const std::string& tag, const at::Tensor& values);
  void summary_zero_fraction(const std::string& tag, const at::Tensor& values);
  const Summaries& summaries() const { return summaries_; }
  void set_summaries(Summaries summaries) { summaries_ = std::move(summaries); }

  // For wrappers of model_fns that run several towers: makes the towers' contexts, which live as long as this one.
  ReplicaSet& replicas() const { return replicas_; }
  ModelContext& make_tower(int tower, Options options);
  // Contexts whose buffers and assignments the step has to commit: the towers', or this one when there are none.
  std::vector<const StepContext*> steps() const;
  bool has_towers() const { return !towers_.empty(); }
  // The batch's rows, when the wrapper knows better than the first entry says.
  void set_rows(int64_t rows) { rows_ = rows; }
  std::optional<int64_t> rows() const { return rows_; }

 private:
  ReplicaSet& replicas_;
  ModeKeys mode_;
  const RunConfig& config_;
  bool exporting_ = false;
  Summaries summaries_;
  std::vector<std::unique_ptr<ModelContext>> towers_;
  std::optional<int64_t> rows_;
};

}  // namespace belfry
