#include "optimizers/internal/reduce_flat.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "core/error.h"
#include "distribute/internal/flat_layout.h"
#include "distribute/internal/nccl_reduce.h"

namespace belfry::internal {
namespace {

using Group = std::vector<Target*>;  // variables of one dtype and device

at::Tensor pack(const Group& group, size_t tower, const FlatLayout& layout) {
  std::vector<at::Tensor> gradients;
  for (Target* target : group) gradients.push_back(std::move(target->gradients[tower]));
  const at::ScalarType dtype = group[0]->variable->value().scalar_type();
  const at::Tensor flat = at::empty({layout.size()}, gradients[0].options().dtype(dtype));
  std::vector<at::Tensor> places = layout.places_in(flat);
  at::_foreach_copy_(places, gradients);
  return flat;
}

void reduce_group(const Group& group, const SumParts& sum) {
  std::vector<at::Tensor> values;
  for (const Target* target : group) values.push_back(target->variable->value());
  const FlatLayout layout(values);
  const at::Tensor& value = values[0];
  std::vector<at::Tensor> parts;
  for (size_t tower = 0, towers = group[0]->gradients.size(); tower < towers; ++tower) {
    parts.push_back(pack(group, tower, layout));
  }
  const auto there =
      std::find_if(parts.begin(), parts.end(), [&](const at::Tensor& part) { return part.device() == value.device(); });
  const size_t root = there == parts.end() ? 0 : static_cast<size_t>(there - parts.begin());
  sum(parts, root);
  at::Tensor total = parts[root];
  if (there == parts.end()) {
    // Pinned memory of LibTorch's cache: fresh in each step, for whoever keeps a gradient.
    total = at::empty(total.sizes(), value.options().pinned_memory(value.is_cpu()));
    total.copy_(parts[root]);
  }
  const std::vector<at::Tensor> places = layout.places_in(total);
  for (size_t i = 0; i < group.size(); ++i) group[i]->gradients = {places[i]};
}

bool has_gpu(const Target& target) {
  return std::any_of(target.gradients.begin(), target.gradients.end(), [](const at::Tensor& g) { return g.is_cuda(); });
}

// In how the log goes on: "... one by one in the order of devices (w: <this>)".
const char* why_not_by_nccl(const Target& target, size_t towers) {
  if (target.gradients.size() < towers) return "not every device has one";
  return why_not_nccl(target.gradients);
}

}  // namespace

void reduce_flat(const std::vector<Target*>& targets, const SumParts& sum) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> values;
  for (const Target* target : targets) values.push_back(target->variable->value());
  for (const std::vector<size_t>& positions : groups_of_one_place(values)) {
    Group group;
    for (const size_t position : positions) group.push_back(targets[position]);
    reduce_group(group, sum);
  }
}

std::string reduce_over_gpus(std::vector<Target>& targets, size_t towers) {
  std::vector<Target*> reducible;
  std::string others;
  size_t left = 0;
  for (Target& target : targets) {
    if (target.gradients.size() < 2 || !has_gpu(target)) continue;
    if (const char* why = why_not_by_nccl(target, towers)) {
      ++left;
      if (others.empty()) others = concat(" (", target.variable->name(), ": ", why, ")");
    } else {
      reducible.push_back(&target);
    }
  }
  if (reducible.empty() && left == 0) return "";
  const size_t by_nccl = reducible.size();
  if (by_nccl > 0) reduce_flat(reducible, nccl_reduce);
  return concat("gradients of ", towers, " devices: those of ", by_nccl, " variables are added up by NCCL, of ", left,
                " one by one in the order of devices", others);
}

}  // namespace belfry::internal
