#include "optimizers/optimizer.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <set>

#include "core/error.h"
#include "distribute/step_context.h"
#include "optimizers/internal/combine_gradients.h"
#include "optimizers/internal/update_finisher.h"

namespace belfry {

class Optimizer::Lazy {
 public:
  explicit Lazy(std::function<Parts()> make) : make_(std::move(make)) {}

  const Parts& get() {
    std::call_once(once_, [this] { parts_.emplace(make_()); });
    return *parts_;
  }

 private:
  std::function<Parts()> make_;
  std::once_flag once_;
  std::optional<Parts> parts_;
};

namespace {

std::string place(const std::source_location& where) { return concat(where.file_name(), ":", where.line()); }

void check_loss(const at::Tensor& loss, const char* call, const std::source_location& where) {
  require(loss.defined() && loss.numel() == 1 && loss.dim() <= 1 && at::isFloatingType(loss.scalar_type()), call,
          " at ", place(where), ": the loss has to be one floating-point number, a scalar or of shape [1]; it is ",
          loss.defined() ? concat(loss.scalar_type(), " of shape ", loss.sizes()) : std::string("undefined"));
}

std::vector<Replica::Leaf*> chosen_leaves(const std::vector<std::string>& names, Replica& replica) {
  if (names.empty()) return replica.trainable_leaves();
  std::vector<Replica::Leaf*> leaves;
  std::set<std::string_view> seen;
  for (const std::string& name : names) {
    require(seen.insert(name).second, "var_list: variable '", name, "' comes twice");
    const Variable* variable = replica.store().find(name);
    Replica::Leaf* leaf = variable ? replica.find_leaf(*variable) : nullptr;
    require(leaf != nullptr, "var_list: this model_fn has no variable '", name, "'");
    require(leaf->tensor.requires_grad(), "var_list: variable '", name, "' is not trainable");
    leaves.push_back(leaf);
  }
  return leaves;
}

GradientsAndVariables gradients_of(const at::Tensor& loss, const std::vector<Replica::Leaf*>& leaves,
                                   double contribution, bool retain_graph) {
  GradientsAndVariables result;
  std::vector<at::Tensor> inputs;
  for (const Replica::Leaf* leaf : leaves) {
    inputs.push_back(leaf->tensor);
    result.push_back({at::Tensor(), leaf->variable, false});
  }
  if (!loss.requires_grad() || inputs.empty()) return result;
  const at::Tensor seed = at::full_like(loss, contribution);
  const auto gradients =
      torch::autograd::grad({loss}, inputs, {seed}, retain_graph, /*create_graph=*/false, /*allow_unused=*/true);
  for (size_t i = 0; i < gradients.size(); ++i) result[i].gradient = gradients[i];
  return result;
}

std::vector<Replica::Leaf*> leaves_of(const std::vector<Variable*>& variables, Replica& replica) {
  std::vector<Replica::Leaf*> leaves;
  for (const Variable* variable : variables) leaves.push_back(replica.find_leaf(*variable));
  return leaves;
}

bool none_defined(const GradientsAndVariables& gradients) {
  return std::none_of(gradients.begin(), gradients.end(), [](const auto& g) { return g.gradient.defined(); });
}

}  // namespace

Optimizer::Optimizer(std::shared_ptr<const UpdateRule> rule, LearningRate learning_rate, std::string name)
    : lazy_(std::make_shared<Lazy>(
          [parts = Parts{std::move(rule), std::move(learning_rate), std::move(name), {}}] { return parts; })) {
  require(parts().rule != nullptr, "Optimizer: no update rule was given");
}

Optimizer::Optimizer(std::function<Parts()> make, bool tower)
    : lazy_(std::make_shared<Lazy>(std::move(make))), tower_(tower) {}

const Optimizer::Parts& Optimizer::parts() const { return lazy_->get(); }
std::string Optimizer::name() const { return parts().name.empty() ? rule().name() : parts().name; }
const UpdateRule& Optimizer::rule() const { return *parts().rule; }
const Accumulation& Optimizer::accumulation() const { return parts().accumulation; }
double Optimizer::learning_rate(int64_t global_step) const { return parts().learning_rate.at(global_step); }

std::string Optimizer::slot_name(const std::string& variable, const std::string& slot) const {
  return "training/" + name() + "/" + variable + "/" + slot;
}

std::string Optimizer::iterations_name() const { return "belfry/training/" + name() + "/iterations"; }

std::vector<std::string> Optimizer::get_slot_names() const {
  std::vector<std::string> names;
  for (const SlotSpec& slot : rule().slots()) names.push_back(slot.name);
  return names;
}

at::Tensor Optimizer::get_slot(const VariableStore& store, const std::string& variable, const std::string& slot) const {
  const std::vector<std::string> names = get_slot_names();
  if (std::find(names.begin(), names.end(), slot) == names.end()) {
    fail(ErrorKind::kNotFound, "optimizer ", name(), " has no slot '", slot, "'");
  }
  const Variable* found = store.find(slot_name(variable, slot));
  return found ? found->value() : at::Tensor();
}

std::vector<const Variable*> Optimizer::variables(const VariableStore& store) const {
  std::vector<const Variable*> found;
  for (const Variable* moved : store.variables(VariableKind::kParameter)) {
    for (const std::string& slot : get_slot_names()) {
      if (const Variable* variable = store.find(slot_name(moved->name(), slot))) found.push_back(variable);
    }
  }
  if (const Variable* counter = store.find(iterations_name())) found.push_back(counter);
  return found;
}

void Optimizer::check_wrapped(const StepContext& context, const char* call, const std::source_location& where) const {
  if (tower_ || !context.tower_optimizer_wanted()) return;
  fail(ErrorKind::kFailedPrecondition, context.called(), ": ", call, " of ", name(), " at ", place(where),
       ": with several devices, wrap the optimizer: TowerOptimizer optimizer(", name(), "(...))");
}

TrainOp Optimizer::minimize(const at::Tensor& loss, StepContext& context, const MinimizeOptions& options,
                            std::source_location where) const {
  check_wrapped(context, "minimize", where);
  check_loss(loss, "minimize", where);
  context.record_loss("minimize of " + name(), loss, where);
  auto update = std::make_shared<PendingUpdate>(*this, "minimize", where);
  update->loss = loss;
  for (const Replica::Leaf* leaf : chosen_leaves(options.var_list, context.replica())) {
    update->variables.push_back(leaf->variable);
  }
  context.record(update, &internal::UpdateFinisher::make);
  return TrainOp(std::move(update));
}

GradientsAndVariables Optimizer::compute_gradients(const at::Tensor& loss, StepContext& context,
                                                   const ComputeGradientsOptions& options,
                                                   std::source_location where) const {
  check_wrapped(context, "compute_gradients", where);
  check_loss(loss, "compute_gradients", where);
  context.record_loss("compute_gradients of " + name(), loss, where);
  const auto leaves = chosen_leaves(options.var_list, context.replica());
  GradientsAndVariables gradients =
      gradients_of(loss, leaves, context.loss_policy().contribution, options.retain_graph);
  if (context.combines_gradients()) {
    gradients = internal::combine_over_towers(gradients, context, "compute_gradients at " + place(where));
    for (const GradientAndVariable& entry : gradients) context.note_combined(*entry.variable);
  }
  return gradients;
}

TrainOp Optimizer::apply_gradients(GradientsAndVariables gradients, StepContext& context,
                                   std::source_location where) const {
  check_wrapped(context, "apply_gradients", where);
  require(!none_defined(gradients) || context.tower_count() > 1, "apply_gradients at ", place(where), " of ", name(),
          ": no gradients were provided for any variable");
  std::set<const Variable*> seen;
  for (const GradientAndVariable& entry : gradients) {
    require(entry.variable != nullptr, "apply_gradients at ", place(where), ": an entry has no variable");
    require(seen.insert(entry.variable).second, "apply_gradients at ", place(where), ": variable '",
            entry.variable->name(), "' comes twice");
    require(!entry.gradient.defined() || entry.combined || entry.own || !context.was_combined(*entry.variable),
            "apply_gradients at ", place(where), ": compute_gradients has given the gradient of variable '",
            entry.variable->name(), "' as the sum over all ", context.noun(),
            "s, and this one does not say whether it still is: keep ",
            "the entry's .combined when you change its gradient, or set .own for one that is to be added up over ",
            context.noun(), "s");
    require(!entry.gradient.defined() || entry.gradient.sizes() == entry.variable->value().sizes(),
            "apply_gradients at ", place(where), ": variable '", entry.variable->name(), "' has shape ",
            entry.variable->value().sizes(), " and its gradient ",
            entry.gradient.defined() ? concat(entry.gradient.sizes()) : std::string());
  }
  auto update = std::make_shared<PendingUpdate>(*this, "apply_gradients", where);
  for (GradientAndVariable& entry : gradients) {
    if (entry.gradient.defined()) entry.gradient = entry.gradient.detach();
    update->variables.push_back(entry.variable);
  }
  update->gradients.push_back(std::move(gradients));
  context.record(update, &internal::UpdateFinisher::make);
  return TrainOp(std::move(update));
}

void run_backward(StepContext& context) {
  const auto& updates = context.updates();
  const auto left = [](const auto& update) { return update->loss.defined(); };
  for (auto update = updates.begin(); update != updates.end(); ++update) {
    if (!left(*update)) continue;
    const bool retain_graph = std::any_of(std::next(update), updates.end(), left);
    PendingUpdate& pending = **update;
    pending.gradients = {gradients_of(pending.loss, leaves_of(pending.variables, context.replica()),
                                      context.loss_policy().contribution, retain_graph)};
    if (none_defined(pending.gradients[0]) && context.tower_count() == 1) {
      fail(ErrorKind::kInvalidArgument, pending.description(), ": the loss reaches none of ", pending.variables.size(),
           " trainable variables, so no gradients are provided");
    }
    pending.loss = at::Tensor();
  }
}

}  // namespace belfry
