#include "estimator/internal/session.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "checkpoint/checkpoint_reader.h"
#include "core/error.h"
#include "core/hash64.h"
#include "core/log.h"
#include "distribute/internal/assignment_log.h"
#include "distribute/internal/context_stack.h"
#include "distribute/random_scope.h"
#include "estimator/internal/checkpoint_names.h"
#include "estimator/internal/model_fn_error.h"
#include "optimizers/merge_updates.h"
#include "optimizers/optimizer.h"

namespace belfry::internal {
namespace {

// The versions of the features' memory: a model_fn that writes into a feature would corrupt the data set behind it.
std::vector<std::pair<std::string, int64_t>> versions(const char* what, const TensorDict& dict) {
  std::vector<std::pair<std::string, int64_t>> found;
  for (const auto& [name, value] : dict) {
    if (!value.is_tensor()) continue;
    require(value.tensor().defined(), "the ", what, " '", name, "' is an undefined tensor");
    if (!value.tensor().is_inference()) found.emplace_back(name, value.tensor()._version());
  }
  return found;
}

void check_unwritten(const char* what, const TensorDict& dict,
                     const std::vector<std::pair<std::string, int64_t>>& before) {
  for (const auto& [name, version] : before) {
    require(dict[name]._version() == version, "the model_fn wrote into ", what, " '", name,
            "', which belongs to the data set: clone() it first, or use an operation that is not in place");
  }
}

using Versions = std::vector<std::pair<std::string, int64_t>>;

Batch joined(const std::vector<Batch>& batches) {
  std::vector<Features> features;
  std::vector<Labels> labels;
  for (const Batch& batch : batches) {
    features.push_back(batch.features);
    labels.push_back(batch.labels);
  }
  return {cat(features), labels[0].empty() ? Labels() : cat(labels)};
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  constexpr size_t kMost = 20;
  for (size_t i = 0; i < std::min(names.size(), kMost); ++i) text += (i ? ", " : "") + names[i];
  return names.size() > kMost ? text + " and " + std::to_string(names.size() - kMost) + " more" : text;
}

}  // namespace

int64_t examples_in(const Features& features, const Labels& labels) {
  for (const TensorDict* dict : {&labels, &features}) {
    for (const auto& [name, value] : *dict) {
      if (value.dim() > 0) return value.rows();
    }
  }
  return 0;
}

std::vector<Batch> with_examples(std::vector<Batch> batches) {
  std::erase_if(batches, [](const Batch& batch) { return examples_in(batch.features, batch.labels) == 0; });
  return batches;
}

Session::Session(ModelFn model_fn, const RunConfig& config, const Strategy* distribute)
    : config_(config),
      strategy_(distribute ? distribute->like_this(config.random_seed) : nullptr),
      own_store_(strategy_ ? nullptr : std::make_unique<VariableStore>(config.random_seed)),
      own_replicas_(strategy_ ? nullptr : std::make_unique<ReplicaSet>(*own_store_)),
      store_(strategy_ ? strategy_->store() : *own_store_),
      replicas_(strategy_ ? strategy_->replicas() : *own_replicas_),
      call_(on_replicas(std::move(model_fn))),
      committer_(store_) {}

ReplicatedCall Session::on_replicas(ModelFn model_fn) {
  return ReplicatedCall(std::move(model_fn), {}, [this](const auto& towers, const auto& work) {
    strategy_->run_steps({towers.begin(), towers.end()}, [&](size_t i) { work(static_cast<int>(i)); });
  });
}

void Session::restore(const std::string& prefix) {
  const CheckpointReader reader(prefix, config_.file_system());
  TensorDict values;
  for (const CheckpointVariable& variable : reader.variables()) {
    if (!variable.is_strings && !is_input_entry(variable.name)) values.set(variable.name, reader.tensor(variable.name));
  }
  if (!values.contains("global_step")) {
    fail(ErrorKind::kInvalidArgument, "checkpoint ", prefix, " has no global_step: it is not one of an Estimator");
  }
  store_.restore(values, prefix);
  input_state_ = read_input_state(reader);
  restored_from_ = prefix;
  restore_checked_ = false;
}

// A slot, training/OPTIMIZER/VARIABLE/SLOT, of an optimizer that the checkpoint knows nothing of, for a variable that
// it has: the optimizer was changed. Both names may have slashes.
bool Session::is_of_other_optimizer(const std::string& missing) const {
  constexpr std::string_view kSlots = "training/";
  if (!missing.starts_with(kSlots)) return false;
  const size_t variable_end = missing.rfind('/');
  for (size_t at = missing.find('/', kSlots.size()); at < variable_end; at = missing.find('/', at + 1)) {
    if (!store_.was_restored(missing.substr(at + 1, variable_end - at - 1))) continue;
    return !store_.was_any_restored(missing.substr(0, at + 1));
  }
  return false;
}

// Belfry's own state may be missing: TensorFlow does not write it. What is missing while all else of the checkpoint is
// used is new: a part that only some steps use and that no step had used yet, or one that was added to the model.
// Nobody wants to serve initial values, though.
void Session::check_restored(ModeKeys mode, bool exporting) {
  if (restore_checked_) return;
  restore_checked_ = true;
  RestoreDifference difference = store_.restore_difference();
  std::erase_if(difference.missing, [](const std::string& name) { return name.starts_with("belfry/"); });
  std::erase_if(difference.unused, [&](const std::string& name) {
    const bool slot = name.starts_with("training/") && mode != ModeKeys::kTrain;
    return slot || name.starts_with("belfry/");
  });
  if (difference.missing.empty()) return;
  const bool other_optimizer = std::any_of(difference.missing.begin(), difference.missing.end(),
                                           [this](const std::string& name) { return is_of_other_optimizer(name); });
  if (!exporting && ((difference.unused.empty() && !other_optimizer) || config_.initialize_missing)) {
    log_warning("checkpoint ", restored_from_, " lacks ", listed(difference.missing),
                ", which the model asks for: initial values are taken");
    return;
  }
  restore_checked_ = false;
  fail(ErrorKind::kInvalidArgument, "checkpoint ", restored_from_,
       " does not fit the model. It lacks: ", listed(difference.missing),
       ". It has, and the model does not ask for: ", difference.unused.empty() ? "nothing" : listed(difference.unused),
       ". If all of it is meant, RunConfig::initialize_missing lets the missing ones begin with initial values");
}

EstimatorSpec Session::call_model_fn(ModelContext& context, const std::vector<Batch>& batches, ModeKeys mode) {
  const ContextScope own_context({});  // whatever scope the caller is in: the model runs under the config's strategy
  const StepScope scope(context);
  const RandomScope random(context.random_seed());
  const at::AutoGradMode grad(mode == ModeKeys::kTrain);
  if (!strategy_) return call_.model_fn()(batches[0].features, batches[0].labels, mode, context);
  std::vector<TowerBatch> parts;
  for (const Batch& batch : batches) {
    parts.push_back({batch.features, batch.labels, examples_in(batch.features, batch.labels)});
  }
  return call_(
      parts, [&] { return joined(batches); }, mode, context);
}

EstimatorSpec Session::call_checked(ModelContext& context, const std::vector<Batch>& batches, ModeKeys mode) {
  std::vector<std::pair<Versions, Versions>> before;
  for (const Batch& batch : batches) {
    before.emplace_back(versions("feature", batch.features), versions("label", batch.labels));
  }
  const auto check_input = [&] {
    for (size_t i = 0; i < batches.size(); ++i) {
      check_unwritten("feature", batches[i].features, before[i].first);
      check_unwritten("label", batches[i].labels, before[i].second);
    }
  };
  EstimatorSpec spec;
  try {
    spec = call_model_fn(context, batches, mode);
  } catch (const c10::Error& error) {
    check_input();  // towers share the memory: what one wrote makes another's backward pass throw
    if (is_out_of_memory(error)) throw;
    fail_in_model_fn(error, mode, batches);
  } catch (...) {
    check_input();
    throw;
  }
  check_input();
  require(spec.mode == mode, "the model_fn was called for mode ", to_string(mode), " and returned a spec for mode ",
          to_string(spec.mode));
  spec.validate();
  if (mode == ModeKeys::kTrain && !context.has_towers()) {
    check_complete(*spec.train_op, context);
    run_backward(context);
  }
  return spec;
}

// What only a later batch asks for and the checkpoint lacks: untrained values would otherwise pass for the model's.
void Session::warn_of_late_parts() {
  if (restored_from_.empty()) return;
  const std::vector<std::string> late = store_.missing_after(missing_known_);
  if (late.empty()) return;
  missing_known_ += late.size();
  log_warning("checkpoint ", restored_from_, " lacks ", listed(late),
              ", which a batch asks for: initial values are taken");
}

SessionStep Session::run(const std::vector<Batch>& batches, ModeKeys mode, bool exporting) {
  if (broken_)
    fail(ErrorKind::kFailedPrecondition,
         "this session's variables are those of a step that failed: it has to be restored");
  replicas_.begin_step();
  SessionStep step;
  for (const Batch& batch : batches) step.rows += examples_in(batch.features, batch.labels);
  StepContext::Options options;
  options.training = mode == ModeKeys::kTrain;
  if (mode != ModeKeys::kTrain) options.batch_number = batch_number_++;
  step.context = std::make_unique<ModelContext>(replicas_, 0, mode, config_, options);
  if (exporting) step.context->set_exporting();
  if (mode == ModeKeys::kTrain) store_.assignments().begin();
  try {
    step.spec = call_checked(*step.context, batches, mode);
    step.rows = step.context->rows().value_or(step.rows);
    for (const StepContext* part : step.context->steps()) part->replica().check_after_step();
    if (mode != ModeKeys::kTrain) {
      const bool first = !restore_checked_;
      check_restored(mode, exporting);
      if (first) missing_known_ = store_.missing_after(0).size();
      warn_of_late_parts();
    }
  } catch (...) {
    discard();
    // The leaves show the variables' own memory: what was written there is not to be undone.
    broken_ = replicas_.leaves_written();
    throw;
  }
  // A trace would take the copies of a roll-back for the model's: export_model rolls back behind it.
  if (mode != ModeKeys::kTrain && !exporting) replicas_.roll_back();
  return step;
}

void Session::prepare(SessionStep& step, bool ends_input) {
  try {
    committer_.prepare(*step.spec.train_op, {.rows = step.rows, .ends_input = ends_input});
    replicas_.prepare(step.context->steps());
    check_restored(ModeKeys::kTrain);
  } catch (...) {
    discard();
    throw;
  }
}

void Session::commit(SessionStep& step) {
  broken_ = true;
  const auto steps = step.context->steps();
  const int active = static_cast<int>(steps.size());
  committer_.commit(*step.spec.train_op, active > 1 ? &replicas_.group() : nullptr, active);
  replicas_.commit(steps);
  store_.set_global_step(step.context->global_step() + 1);
  replicas_.bump_leaves();
  store_.assignments().commit();
  broken_ = false;
}

void Session::discard() {
  store_.assignments().roll_back();
  replicas_.roll_back();
}

bool Session::was_assigned_to() const { return store_.assignments().count() > 0; }

}  // namespace belfry::internal
