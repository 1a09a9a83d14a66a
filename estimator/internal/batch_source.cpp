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
  before_ = place();
  ahead_ = iterator_.next();
  at_hand_ = true;
  if (ahead_) return;
  log_info("the input starts anew: it had come to its end");
  at_hand_ = false;
  examples_before_ = saved.examples_seen;
  iterator_ = dataset_.iterate();
}

std::optional<Batch> BatchSource::next() {
  if (ahead_) return std::exchange(ahead_, std::nullopt);
  before_ = place();
  at_hand_ = true;  // also when reading throws: the place is then the one before
  std::optional<Batch> batch = iterator_.next();
  at_hand_ = batch.has_value();
  return batch;
}

InputState BatchSource::state(bool finished) const {
  const Place now = at_hand_ ? before_ : place();
  return {now.position, fingerprint_, finished, examples_before_ + now.rows};
}

}  // namespace belfry::internal
