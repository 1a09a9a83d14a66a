#include "estimator/internal/batch_source.h"

#include <utility>

#include "core/error.h"
#include "core/log.h"

namespace belfry::internal {

std::vector<Batch> read_batches(DatasetIterator& input, size_t most) {
  std::vector<Batch> batches;
  while (batches.size() < most) {
    std::optional<Batch> batch = input.next();
    if (!batch) break;
    batches.push_back(std::move(*batch));
  }
  return batches;
}

BatchSource::BatchSource(Dataset dataset, const std::optional<InputState>& saved, bool continue_input,
                         size_t batches_per_step)
    : dataset_(std::move(dataset)),
      batches_per_step_(batches_per_step),
      fingerprint_(dataset_.fingerprint()),
      iterator_(dataset_.iterate()) {
  require(dataset_.batched(), "the input_fn's data set hands out single examples: end it with .batch(size)");
  if (saved) restore(*saved, continue_input);
}

void BatchSource::restore(const InputState& saved, bool continue_input) {
  examples_before_ = saved.examples_seen;
  if (saved.finished && !continue_input) return;
  if (saved.fingerprint != fingerprint_) {
    log_warning("the input starts anew: it is another pipeline than the checkpoint's (now ", dataset_.describe(), ")");
    return;
  }
  const auto progress = [](int64_t done, int64_t total) {
    if (done > 0 && done < total) log_info("finding the place in the input: ", done, " of ", total, " elements");
  };
  try {
    iterator_.restore(saved.position, progress);
  } catch (const Error& error) {
    log_warning("the input starts anew: ", error.what());
    iterator_ = dataset_.iterate();
    return;
  }
  examples_before_ = saved.examples_seen - iterator_.rows_seen();
  read_ahead();
  if (!ahead_->batches.empty() || ahead_->failure) return;
  log_info("the input starts anew: it had come to its end");
  ahead_.reset();
  examples_before_ = saved.examples_seen;
  iterator_ = dataset_.iterate();
}

void BatchSource::read_ahead() {
  ahead_.emplace(Ahead{place(), {}, nullptr});
  try {
    ahead_->batches = read_batches(iterator_, batches_per_step_);
  } catch (...) {
    ahead_->failure = std::current_exception();
  }
}

std::vector<Batch> BatchSource::next() {
  if (!ahead_) read_ahead();
  Ahead ahead = *std::exchange(ahead_, std::nullopt);
  before_ = std::move(ahead.before);
  at_hand_ = true;  // also when reading has thrown: the place is then the one before
  if (ahead.failure) std::rethrow_exception(ahead.failure);
  at_hand_ = !ahead.batches.empty();
  return std::move(ahead.batches);
}

// Batches without examples make no step.
bool BatchSource::is_last() {
  if (!ahead_) read_ahead();
  while (!ahead_->batches.empty() && with_examples(ahead_->batches).empty()) read_ahead();
  return ahead_->batches.empty() && !ahead_->failure;
}

InputState BatchSource::state(bool finished) const {
  const Place place = now();
  return {place.position, fingerprint_, finished, examples_before_ + place.rows};
}

}  // namespace belfry::internal
