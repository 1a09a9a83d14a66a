#include "distribute/internal/flat_cache.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "distribute/internal/flat_layout.h"

namespace belfry::internal {
namespace {

// A number no variable has: it was never copied.
constexpr uint64_t kNever = ~uint64_t{0};

}  // namespace

void FlatCache::add(const Variable& variable, const at::Tensor& tensor) {
  entries_.push_back({&variable, tensor, kNever});
  laid_out_ = false;
}

void FlatCache::clear() {
  entries_.clear();
  blocks_.clear();
  laid_out_ = true;
}

void FlatCache::lay_out(Block& block) {
  std::vector<at::Tensor> values;
  for (const size_t index : block.entries) values.push_back(entries_[index].variable->value());
  const FlatLayout layout(values);
  const at::Tensor& first = values[0];
  // The host's side of a transfer is pinned: the GPU then reads or writes it by itself.
  block.sent = at::empty({layout.size()}, first.options().pinned_memory(first.is_cpu() && device_.is_cuda()));
  block.received =
      at::empty({layout.size()}, first.options().device(device_).pinned_memory(first.is_cuda() && device_.is_cpu()));
  const std::vector<at::Tensor> staged = layout.places_in(block.sent);
  const std::vector<at::Tensor> copied = layout.places_in(block.received);
  for (size_t i = 0; i < block.entries.size(); ++i) {
    Entry& entry = entries_[block.entries[i]];
    entry.staged = staged[i];
    entry.copied = copied[i];
    entry.version = kNever;
    entry.tensor.set_data(entry.copied);
  }
}

void FlatCache::rebuild() {
  const at::NoGradGuard no_grad;
  blocks_.clear();
  std::vector<at::Tensor> values;
  for (const Entry& entry : entries_) values.push_back(entry.variable->value());
  for (std::vector<size_t>& group : groups_of_one_place(values)) {
    blocks_.emplace_back().entries = std::move(group);
    lay_out(blocks_.back());
  }
  laid_out_ = true;
}

void FlatCache::refresh(Block& block) {
  const auto is_stale = [&](size_t index) { return entries_[index].version != entries_[index].variable->version(); };
  const auto stale = std::count_if(block.entries.begin(), block.entries.end(), is_stale);
  if (stale == 0) return;
  const bool all = stale == static_cast<std::ptrdiff_t>(block.entries.size());
  for (const size_t index : block.entries) {
    if (!is_stale(index)) continue;
    Entry& entry = entries_[index];
    (all ? entry.staged : entry.copied).copy_(entry.variable->value());
    entry.version = entry.variable->version();
  }
  // Blocking, so that the next step may write to `sent`: a replica that sits idle reads `received` at no set time.
  if (all) block.received.copy_(block.sent);
  transfers_ += all ? 1 : stale;
}

void FlatCache::refresh() {
  const at::NoGradGuard no_grad;
  if (!laid_out_) rebuild();
  for (Block& block : blocks_) refresh(block);
}

}  // namespace belfry::internal
