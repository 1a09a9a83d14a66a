#include "optimizers/internal/update_plan.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "optimizers/optimizer.h"

namespace belfry::internal {
namespace {

at::Tensor elements(const at::Tensor& dense, int64_t offset, int64_t count) {
  return dense.as_strided({count}, {1}, dense.storage_offset() + offset);
}

// The k-th of `shares` parts of n: parts differ by one at most.
std::pair<int64_t, int64_t> part_of(int64_t n, int share, int shares) {
  return {n * share / shares, n * (share + 1) / shares};
}

// The target's gradients, of each the part that is asked for, added up in order.
template <class Part>
at::Tensor sum_of(const Target& target, const Part& part) {
  at::Tensor sum = part(target.gradients[0]);
  for (size_t k = 1; k < target.gradients.size(); ++k) {
    const at::Tensor next = part(target.gradients[k]);
    sum = k > 1 || target.in_place ? sum.add_(next) : sum.add(next);
  }
  return sum;
}

}  // namespace

std::vector<Variable*> slots_of(const Optimizer& optimizer, const Variable& variable, VariableStore& store) {
  std::vector<Variable*> slots;
  for (const SlotSpec& slot : optimizer.rule().slots()) {
    slots.push_back(&store.get_or_create(optimizer.slot_name(variable.name(), slot.name), VariableKind::kSlot,
                                         [&] { return at::full_like(variable.value(), slot.initial); }));
    slots.back()->set_device_name(variable.device_name());
  }
  return slots;
}

UpdatePlan::UpdatePlan(VariableStore& store, const Optimizer& optimizer, const std::vector<Target>& targets)
    : optimizer_(optimizer.name()), slot_names_(optimizer.get_slot_names()), grain_(optimizer.rule().grain()) {
  for (const Target& target : targets) {
    entries_.push_back({target.variable, slots_of(optimizer, *target.variable, store), target.is_sparse()});
  }
  whole_ = pieces_of_share(0, 1);
}

bool UpdatePlan::fits(const Optimizer& optimizer, const std::vector<Target>& targets) const {
  return optimizer_ == optimizer.name() && grain_ == optimizer.rule().grain() &&
         slot_names_ == optimizer.get_slot_names() &&
         std::equal(
             entries_.begin(), entries_.end(), targets.begin(), targets.end(),
             [](const Entry& a, const Target& b) { return a.variable == b.variable && a.sparse == b.is_sparse(); });
}

void UpdatePlan::add_piece(std::vector<Group>& groups, size_t entry, int share, int shares) const {
  const at::Tensor& value = entries_[entry].variable->value();
  int64_t begin = 0;
  int64_t end = value.numel();
  const bool by_rows = grain_ == UpdateGrain::kRow && value.dim() > 0 && value.is_contiguous() && value.size(0) > 0;
  if (grain_ == UpdateGrain::kElement) {
    // Small variables go round, so that they do not all fall to one share.
    const int part = static_cast<int>((entry + static_cast<size_t>(share)) % static_cast<size_t>(shares));
    std::tie(begin, end) = part_of((end + kBlock - 1) / kBlock, part, shares);
    begin *= kBlock;
    end = std::min(end * kBlock, value.numel());
  } else if (by_rows) {
    std::tie(begin, end) = part_of(value.size(0), share, shares);
    begin *= value.numel() / value.size(0);
    end *= value.numel() / value.size(0);
  } else if (static_cast<int>(entry % static_cast<size_t>(shares)) != share) {
    return;
  }
  if (begin == end) return;
  Piece piece{entry, begin, value, {}, shares == 1 || end - begin == value.numel()};
  const auto cut = [&](const at::Tensor& dense) {
    if (piece.whole) return dense;
    if (by_rows) {
      const int64_t row = value.numel() / value.size(0);
      return dense.narrow(0, begin / row, (end - begin) / row);
    }
    return elements(dense, begin, end - begin);
  };
  piece.parameter = cut(value);
  for (const Variable* slot : entries_[entry].slots) piece.slots.push_back(cut(slot->value()));
  const auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& g) {
    return g[0].parameter.scalar_type() == value.scalar_type() && g[0].parameter.device() == value.device();
  });
  if (group == groups.end()) {
    groups.push_back({std::move(piece)});
  } else {
    group->push_back(std::move(piece));
  }
}

std::vector<UpdatePlan::Group> UpdatePlan::pieces_of_share(int share, int shares) const {
  std::vector<Group> groups;
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (!entries_[i].sparse) add_piece(groups, i, share, shares);
  }
  return groups;
}

void UpdatePlan::cut(int shares) {
  if (static_cast<int>(shares_.size()) == shares) return;
  shares_.clear();
  for (int i = 0; i < shares; ++i) shares_.push_back(pieces_of_share(i, shares));
}

void UpdatePlan::apply(const UpdateRule& rule, const UpdateArguments& arguments,
                       const std::vector<Target>& targets) const {
  apply_groups(whole_, rule, arguments, targets);
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].sparse) apply_rows(rule, arguments, entries_[i], targets[i].gradients[0]);
  }
}

void UpdatePlan::apply_share(const UpdateRule& rule, const UpdateArguments& arguments,
                             const std::vector<Target>& targets, int share) const {
  const at::NoGradGuard no_grad;
  apply_groups(shares_[static_cast<size_t>(share)], rule, arguments, targets);
  for (size_t i = 0; i < entries_.size(); ++i) {
    const bool mine = i % shares_.size() == static_cast<size_t>(share);
    if (entries_[i].sparse && mine) apply_rows(rule, arguments, entries_[i], targets[i].gradients[0]);
  }
}

void UpdatePlan::apply_groups(const std::vector<Group>& groups, const UpdateRule& rule,
                              const UpdateArguments& arguments, const std::vector<Target>& targets) const {
  for (const Group& group : groups) {
    UpdateLists lists;
    lists.slots.resize(group[0].slots.size());
    for (const Piece& piece : group) {
      const Target& target = targets[piece.entry];
      if (is_long(piece, target)) {
        apply_long(piece, rule, arguments, target);
        continue;
      }
      lists.parameters.push_back(piece.parameter);
      lists.gradients.push_back(sum_of(target, [&](const at::Tensor& gradient) {
        return piece.whole ? gradient
                           : elements(gradient, piece.offset, piece.parameter.numel()).view(piece.parameter.sizes());
      }));
      for (size_t s = 0; s < piece.slots.size(); ++s) lists.slots[s].push_back(piece.slots[s]);
    }
    if (!lists.parameters.empty()) rule.apply(arguments, lists);
  }
}

bool UpdatePlan::is_long(const Piece& piece, const Target& target) const {
  return grain_ == UpdateGrain::kElement && target.gradients.size() > 1 && piece.parameter.numel() >= 2 * kCached;
}

void UpdatePlan::apply_long(const Piece& piece, const UpdateRule& rule, const UpdateArguments& arguments,
                            const Target& target) const {
  const int64_t size = piece.parameter.numel();
  at::Tensor scratch = at::empty({kCached}, piece.parameter.options());
  for (int64_t start = 0; start < size; start += kCached) {
    const int64_t count = std::min(kCached, size - start);
    const auto part = [&](const at::Tensor& gradient) { return elements(gradient, piece.offset + start, count); };
    at::Tensor sum = scratch.narrow(0, 0, count);
    at::add_out(sum, part(target.gradients[0]), part(target.gradients[1]));
    for (size_t k = 2; k < target.gradients.size(); ++k) sum.add_(part(target.gradients[k]));
    UpdateLists lists{{elements(piece.parameter, start, count)}, {sum}, {}};
    for (const at::Tensor& slot : piece.slots) lists.slots.push_back({elements(slot, start, count)});
    rule.apply(arguments, lists);
  }
}

// The rows that occur are taken out, updated as a small variable, and put back.
void UpdatePlan::apply_rows(const UpdateRule& rule, const UpdateArguments& arguments, const Entry& entry,
                            const at::Tensor& gradient) const {
  const at::Tensor sum = gradient.coalesce();
  const at::Tensor& value = entry.variable->value();
  const at::Tensor rows = sum.indices()[0].to(value.device());
  if (rows.numel() == 0) return;
  UpdateLists lists;
  lists.parameters = {value.index_select(0, rows)};
  lists.gradients = {sum.values().to(value.options())};
  for (const Variable* slot : entry.slots) lists.slots.push_back({slot->value().index_select(0, rows)});
  const std::vector<at::Tensor> parameters = lists.parameters;
  const auto slots = lists.slots;
  rule.apply(arguments, lists);
  value.index_copy_(0, rows, parameters[0]);
  for (size_t s = 0; s < entry.slots.size(); ++s) entry.slots[s]->value().index_copy_(0, rows, slots[s][0]);
}

}  // namespace belfry::internal
