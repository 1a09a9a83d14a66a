#include "distribute/internal/flat_cache.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace belfry::internal {
namespace {

// A number no variable has: it was never copied.
constexpr uint64_t kNever = ~uint64_t{0};

// Elements a place is rounded up to, so that every tensor begins at a multiple of 64 bytes and more.
constexpr int64_t kAlignment = 64;

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

FlatCache::Block& FlatCache::block_of(const at::Tensor& value) {
  for (Block& block : blocks_) {
    const at::Tensor& first = entries_[block.entries[0]].variable->value();
    if (first.scalar_type() == value.scalar_type() && first.device() == value.device()) return block;
  }
  return blocks_.emplace_back();
}

void FlatCache::lay_out(Block& block) {
  int64_t size = 0;
  std::vector<int64_t> offsets;
  for (const size_t index : block.entries) {
    offsets.push_back(size);
    size += (entries_[index].variable->value().numel() + kAlignment - 1) / kAlignment * kAlignment;
  }
  const at::Tensor& first = entries_[block.entries[0]].variable->value();
  // The host's side of a transfer is pinned: the GPU then reads or writes it by itself.
  block.sent = at::empty({size}, first.options().pinned_memory(first.is_cpu() && device_.is_cuda()));
  block.received =
      at::empty({size}, first.options().device(device_).pinned_memory(first.is_cuda() && device_.is_cpu()));
  for (size_t i = 0; i < block.entries.size(); ++i) {
    Entry& entry = entries_[block.entries[i]];
    const at::Tensor& value = entry.variable->value();
    entry.staged = block.sent.as_strided(value.sizes(), value.strides(), offsets[i]);
    entry.copied = block.received.as_strided(value.sizes(), value.strides(), offsets[i]);
    entry.version = kNever;
    entry.tensor.set_data(entry.copied);
  }
}

void FlatCache::rebuild() {
  const at::NoGradGuard no_grad;
  blocks_.clear();
  for (size_t i = 0; i < entries_.size(); ++i) block_of(entries_[i].variable->value()).entries.push_back(i);
  for (Block& block : blocks_) lay_out(block);
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
