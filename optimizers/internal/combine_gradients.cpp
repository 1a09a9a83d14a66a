#include "optimizers/internal/combine_gradients.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>
#include <set>

#include "distribute/step_context.h"

namespace belfry::internal {
namespace {

// Towers meet once for each variable that any of them knows: first they agree on the names.
std::vector<Variable*> agree_on_variables(const GradientsAndVariables& own, StepContext& context,
                                          const std::string& what) {
  std::string names;
  for (const GradientAndVariable& entry : own) {
    if (entry.gradient.defined()) names += entry.variable->name() + '\n';
  }
  const at::Tensor bytes = at::empty({static_cast<int64_t>(names.size())}, at::kByte);
  std::copy(names.begin(), names.end(), bytes.mutable_data_ptr<uint8_t>());
  std::set<std::string> all;
  for (const at::Tensor& theirs : context.gather_towers(what, bytes)) {
    const auto* text = theirs.const_data_ptr<uint8_t>();
    std::string name;
    for (int64_t i = 0; i < theirs.numel(); ++i) {
      if (text[i] != '\n') {
        name += static_cast<char>(text[i]);
        continue;
      }
      all.insert(name);
      name.clear();
    }
  }
  std::vector<Variable*> variables;
  for (const std::string& name : all) variables.push_back(context.store().find(name));
  return variables;
}

}  // namespace

at::Tensor sum_gradients(const std::vector<at::Tensor>& gradients) {
  at::Tensor sum;
  for (const at::Tensor& gradient : gradients) {
    if (!gradient.defined()) continue;
    if (!sum.defined()) {
      sum = gradient;
      continue;
    }
    const at::Tensor next = gradient.to(sum.device());
    sum = sum.is_sparse() && !next.is_sparse() ? next + sum : sum + next;
  }
  return sum.defined() && sum.is_sparse() ? sum.coalesce() : sum;
}

GradientsAndVariables combine_over_towers(const GradientsAndVariables& own, StepContext& context,
                                          const std::string& what) {
  const at::NoGradGuard no_grad;
  std::map<const Variable*, at::Tensor> mine;
  GradientsAndVariables combined;
  for (const GradientAndVariable& entry : own) mine[entry.variable] = entry.gradient;
  std::map<const Variable*, at::Tensor> sums;
  const std::vector<Variable*> reached = agree_on_variables(own, context, what);
  for (const Variable* variable : reached) {
    const auto known = mine.find(variable);
    const at::Tensor own_gradient = known == mine.end() ? at::Tensor() : known->second;
    std::vector<at::Tensor> all = context.gather_towers(what + " of " + variable->name(), own_gradient);
    for (at::Tensor& gradient : all) {
      if (gradient.defined()) gradient = gradient.to(context.device());
    }
    at::Tensor sum = sum_gradients(all);
    const auto defined = std::count_if(all.begin(), all.end(), [](const at::Tensor& g) { return g.defined(); });
    // A lone gradient is every tower's: each takes a copy, which its user may write to.
    if (defined == 1) sum = sum.clone();
    sums[variable] = std::move(sum);
  }
  for (const GradientAndVariable& entry : own) combined.push_back({sums[entry.variable], entry.variable, true});
  for (Variable* variable : reached) {
    if (!mine.contains(variable)) combined.push_back({sums[variable], variable, true});
  }
  return combined;
}

}  // namespace belfry::internal
