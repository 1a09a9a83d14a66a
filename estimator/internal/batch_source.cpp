#include "estimator/internal/batch_source.h"

#include <utility>

#include "core/error.h"
#include "core/log.h"

namespace belfry::internal {

BatchSource::BatchSource(Dataset dataset, const std::optional<InputState>& saved, bool continue_input)
    : dataset_(std::move(dataset)), fingerprint_(dataset_.fingerprint()), iterator_(dataset_.iterate()) {
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
  if (ahead_->batch || ahead_->failure) return;
  log_info("the input starts anew: it had come to its end");
  ahead_.reset();
  examples_before_ = saved.examples_seen;
  iterator_ = dataset_.iterate();
}

void BatchSource::read_ahead() {
  ahead_.emplace(Ahead{place(), std::nullopt, nullptr});
  try {
    ahead_->batch = iterator_.next();
  } catch (...) {
    ahead_->failure = std::current_exception();
  }
}

std::optional<Batch> BatchSource::next() {
  if (!ahead_) read_ahead();
  Ahead ahead = *std::exchange(ahead_, std::nullopt);
  before_ = std::move(ahead.before);
  at_hand_ = true;  // also when reading has thrown: the place is then the one before
  if (ahead.failure) std::rethrow_exception(ahead.failure);
  at_hand_ = ahead.batch.has_value();
  return std::move(ahead.batch);
}

// Batches without examples make no step.
bool BatchSource::is_last() {
  if (!ahead_) read_ahead();
  while (ahead_->batch && examples_in(ahead_->batch->features, ahead_->batch->labels) == 0) read_ahead();
  return !ahead_->batch && !ahead_->failure;
}

InputState BatchSource::state(bool finished) const {
  const Place place = now();
  return {place.position, fingerprint_, finished, examples_before_ + place.rows};
}

}  // namespace belfry::internal
