#include "optimizers/internal/target.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "optimizers/internal/combine_gradients.h"

namespace belfry::internal {
namespace {

// Whether `rule` can take the rows that occur by themselves.
bool takes_rows(const UpdateRule& rule, const at::Tensor& gradient) {
  return gradient.sparse_dim() == 1 && !rule.moves_all_rows() && rule.grain() != UpdateGrain::kVariable;
}

}  // namespace

std::vector<Target> targets_of(PendingUpdate& update) {
  std::map<std::string_view, Target> targets;
  for (GradientsAndVariables& tower : update.gradients) {
    for (GradientAndVariable& entry : tower) {
      if (!entry.gradient.defined()) continue;
      Target& target = targets.try_emplace(entry.variable->name()).first->second;
      target.variable = entry.variable;
      if (!entry.combined || target.gradients.empty()) target.gradients.push_back(std::move(entry.gradient));
    }
  }
  std::vector<Target> sorted;
  for (auto& [name, target] : targets) sorted.push_back(std::move(target));
  return sorted;
}

void settle_layout(Target& target, const UpdateRule& rule) {
  const auto sparse = [](const at::Tensor& gradient) { return gradient.is_sparse(); };
  if (std::any_of(target.gradients.begin(), target.gradients.end(), sparse)) {
    at::Tensor sum = sum_gradients(target.gradients);
    if (sum.is_sparse() && !takes_rows(rule, sum)) sum = sum.to_dense();
    target.gradients = {sum};
  }
  for (at::Tensor& gradient : target.gradients) {
    if (!gradient.is_sparse()) gradient = target.variable->in_layout(gradient);
  }
  const at::Tensor& first = target.gradients[0];
  target.in_place = !first.is_sparse() && first.use_count() == 1 && first.storage().use_count() == 1;
}

}  // namespace belfry::internal
