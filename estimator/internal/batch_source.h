// The training input, from where it is to go on.
#pragma once

#include <exception>
#include <optional>
#include <string>

#include "data/dataset.h"
#include "estimator/internal/session.h"

namespace belfry::internal {

// Reads a data set from its start, or from where an earlier call left it. Used by one thread.
class BatchSource {
 public:
  // Goes on from `saved` when there is one, its pipeline has the fingerprint of this one, and the call that wrote it
  // was cut short (or `continue_input`). When a position is not used though there is one, the log says why.
  BatchSource(Dataset dataset, const std::optional<InputState>& saved, bool continue_input);

  // The next batch, which is at hand until consume() or the call after.
  std::optional<Batch> next();
  // Whether no batch follows the one at hand; for that, the next one is read. What the reading throws comes out of
  // next().
  bool is_last();
  // The batch at hand has become part of the training, or has been passed over.
  void consume() { at_hand_ = false; }
  // Where the input stands: before the batch at hand, if there is one, so that nothing is lost with a step that was not
  // committed.
  InputState state(bool finished) const;
  int64_t examples_seen() const { return state(false).examples_seen; }
  int64_t epochs() const { return (ahead_ ? ahead_->before.epoch : iterator_.epoch()) + 1; }

 private:
  struct Place {
    std::string position;
    int64_t rows = 0;  // of this reading
    int64_t epoch = 0;
  };
  // A batch that was read before it was asked for, and where the input stood before it.
  struct Ahead {
    Place before;
    std::optional<Batch> batch;
    std::exception_ptr failure;
  };

  void restore(const InputState& saved, bool continue_input);
  void read_ahead();
  Place place() const { return {iterator_.position(), iterator_.rows_seen(), iterator_.epoch()}; }
  // Before the batch at hand, or before what follows.
  Place now() const { return at_hand_ ? before_ : ahead_ ? ahead_->before : place(); }

  Dataset dataset_;
  uint64_t fingerprint_;
  DatasetIterator iterator_;
  Place before_;  // the batch at hand
  bool at_hand_ = false;
  std::optional<Ahead> ahead_;
  int64_t examples_before_ = 0;
};

}  // namespace belfry::internal
