#include "distribute/step_context.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <atomic>

#include "core/error.h"
#include "core/hash64.h"
#include "distribute/internal/device_streams.h"
#include "distribute/rendezvous.h"

namespace belfry {
namespace {

thread_local StepContext* current_context = nullptr;

// In tower order, on this tower's device: the others' may be elsewhere.
at::Tensor sum_in_order(const std::vector<at::Tensor>& values, at::Device device) {
  at::Tensor sum = values[0].to(device);
  for (size_t i = 1; i < values.size(); ++i) sum = sum + values[i].to(device);
  return sum;
}

// The step's gradient is the sum of what every tower's loss makes of the global sum, so the backward pass sums too.
struct GlobalSum : torch::autograd::Function<GlobalSum> {
  static at::Tensor forward(torch::autograd::AutogradContext* saved, const at::Tensor& value, StepContext* context,
                            const std::string& what) {
    saved->saved_data["step"] = static_cast<int64_t>(context->id());
    saved->saved_data["what"] = what;
    // A copy: another tower may still read it when this one goes on and writes to `value`.
    return sum_in_order(context->gather_towers(what, value.detach().clone()), value.device());
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* saved,
                                                 torch::autograd::variable_list gradients) {
    StepContext* context = StepContext::current();
    const std::string what = "the gradient of " + saved->saved_data["what"].toStringRef();
    if (!context || static_cast<int64_t>(context->id()) != saved->saved_data["step"].toInt()) {
      fail(ErrorKind::kFailedPrecondition, what, " is asked for outside the step that made it: its towers are gone");
    }
    const at::Tensor gradient = gradients[0].detach();
    return {sum_in_order(context->gather_towers(what, gradient), gradient.device()), at::Tensor(), at::Tensor()};
  }
};

uint64_t next_context_id() {
  static std::atomic<uint64_t> next{1};
  return next++;
}

}  // namespace

StepContext::StepContext(Replica& replica, Options options)
    : replica_(replica), options_(options), global_step_(replica.store().global_step()), id_(next_context_id()) {
  require(options.replica_count == 1 || options.rendezvous != nullptr, "StepContext: ", options.replica_count,
          " replicas without a rendezvous");
}

StepContext::~StepContext() = default;

uint64_t StepContext::random_seed() const {
  uint64_t seed = hash64_combine(store().seed(), static_cast<uint64_t>(global_step_));
  if (options_.batch_number > 0) seed = hash64_combine(seed, static_cast<uint64_t>(options_.batch_number));
  return hash64_combine(seed, static_cast<uint64_t>(tower_index()));
}

StepContext* StepContext::current() { return current_context; }

std::string StepContext::describe_row(int64_t row, int64_t count) {
  const StepContext* context = current();
  if (!context) return concat("row ", row);
  const Options& options = context->options_;
  if (options.replica_count == 1 || count == options.rows) {
    return concat("row ", options.first_row + row, " of the batch");
  }
  return concat("row ", row, " of ", context->called(), "'s ", count);
}

CallSite StepContext::next_occurrence(const std::source_location& where) {
  const CallSite here(where);
  for (CallSite& passed : passed_) {
    if (passed.line != here.line || passed.column != here.column || passed.file != here.file) continue;
    const CallSite site = passed;
    ++passed.occurrence;
    return site;
  }
  passed_.push_back(here);
  ++passed_.back().occurrence;
  return here;
}

at::Tensor StepContext::variable(const std::string& name, const std::function<at::Tensor()>& initial, bool trainable) {
  return replica().variable(name, initial, trainable);
}

void StepContext::check_arguments(const std::string& name, std::any arguments,
                                  bool (*same)(const std::any& known, const std::any& now)) {
  std::any& known = replica().module_arguments(name);
  if (!known.has_value()) {
    known = std::move(arguments);
    return;
  }
  require(same(known, arguments), "module '", name, "' was made with other arguments; one name, one set of arguments");
}

double StepContext::sum_over_towers(double value, const std::source_location& where) {
  if (tower_count() == 1) return value;
  return options_.rendezvous->sum(tower_index(), next_occurrence(where), value);
}

std::vector<at::Tensor> StepContext::gather_towers(const std::string& what, const at::Tensor& value) {
  if (tower_count() == 1) return {value};
  if (value.defined()) internal::publish(value.device());
  std::vector<at::Tensor> values = options_.rendezvous->exchange(tower_index(), what, value);
  for (const at::Tensor& theirs : values) internal::take_over(theirs);
  return values;
}

std::vector<std::shared_ptr<const void>> StepContext::exchange(const std::string& what,
                                                               std::shared_ptr<const void> value,
                                                               std::optional<double> timeout_seconds) {
  return options_.rendezvous->exchange(tower_index(), what, std::move(value), timeout_seconds);
}

std::vector<std::vector<at::Tensor>> StepContext::gather_lists(const std::string& what, std::vector<at::Tensor> values,
                                                               std::optional<double> timeout_seconds) {
  using List = std::vector<at::Tensor>;
  if (!values.empty()) internal::publish(device());
  std::vector<List> all;
  for (const auto& theirs : exchange(what, std::make_shared<const List>(std::move(values)), timeout_seconds)) {
    all.push_back(*static_cast<const List*>(theirs.get()));
    for (const at::Tensor& tensor : all.back()) internal::take_over(tensor);
  }
  return all;
}

void StepContext::record(std::shared_ptr<PendingUpdate> update, MakeStepFinisher finisher) {
  updates_.push_back(std::move(update));
  finishers_.insert(finisher);
}

void StepContext::record_loss(const std::string& what, const at::Tensor& loss, const std::source_location& where) {
  if (!options_.record_losses || loss.numel() != 1) return;
  const std::string label = concat("the loss of ", what, " at ", where.file_name(), ":", where.line());
  const auto before = std::count_if(recorded_losses_.begin(), recorded_losses_.end(), [&](const auto& known) {
    return known.first == label || known.first.starts_with(label + " (");
  });
  recorded_losses_.emplace_back(before == 0 ? label : concat(label, " (call ", before + 1, ")"), loss.item<double>());
}

at::Tensor StepContext::global_sum(const at::Tensor& value, std::source_location where) {
  if (tower_count() == 1) return value;
  // Autograd has one thread for each GPU: two towers on one GPU would wait for each other on it.
  if (value.is_cuda() && value.requires_grad()) {
    fail(ErrorKind::kUnimplemented, "global_sum at ", where.file_name(), ":", where.line(), " of a tensor on ",
         value.device().str(), " that needs a gradient");
  }
  const std::string what = concat("global_sum at ", to_string(next_occurrence(where)), " of ", value.scalar_type(),
                                  " of shape ", value.sizes());
  return GlobalSum::apply(value, this, what);
}

void StepContext::queue(const std::string& variable, const at::Tensor& value, bool add) {
  const Variable* known = store().find(variable);
  if (!known) fail(ErrorKind::kNotFound, "assign: there is no variable '", variable, "'");
  require(known->value().sizes() == value.sizes(), "assign: variable '", variable, "' has shape ",
          known->value().sizes(), " and was given a value of shape ", value.sizes());
  require(at::can_cast(value.scalar_type(), known->value().scalar_type()), "assign: variable '", variable, "' holds ",
          known->value().scalar_type(), " and was given ", value.scalar_type(), ", of which a part would be lost");
  // A copy: what is assigned is the value of now, even when it shows a variable that this step's commit moves.
  assignments_.push_back({variable, value.detach().clone(), add});
}

void StepContext::assign(const std::string& variable, const at::Tensor& value) { queue(variable, value, false); }

void StepContext::assign_add(const std::string& variable, const at::Tensor& delta) { queue(variable, delta, true); }

StepScope::StepScope(StepContext& context) : outer_(current_context) { current_context = &context; }

StepScope::~StepScope() { current_context = outer_; }

}  // namespace belfry
