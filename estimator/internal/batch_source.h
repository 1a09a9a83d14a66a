// The training input, from where it is to go on.
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "estimator/internal/session.h"

namespace belfry::internal {

// Reads a data set from its start, or from where an earlier call left it, so many batches for each step. Used by one
// thread.
class BatchSource {
 public:
  // Goes on from `saved` when there is one, its pipeline has the fingerprint of this one, and the call that wrote it
  // was cut short (or `continue_input`). When a position is not used though there is one, the log says why.
  BatchSource(Dataset dataset, const std::optional<InputState>& saved, bool continue_input,
              size_t batches_per_step = 1);

  // The batches of the next step, which are at hand until consume() or the call after; fewer than wanted where the
  // input ends, none at its end.
  std::vector<Batch> next();
  // Whether no batch follows those at hand; for that, the next ones are read. What the reading throws comes out of
  // next().
  bool is_last();
  // The batches at hand have become part of the training, or have been passed over.
  void consume() { at_hand_ = false; }
  // Where the input stands: before the batches at hand, if there are some, so that nothing is lost with a step that was
  // not committed.
  InputState state(bool finished) const;
  int64_t examples_seen() const { return state(false).examples_seen; }
  int64_t epochs() const { return (ahead_ ? ahead_->before.epoch : iterator_.epoch()) + 1; }

 private:
  struct Place {
    std::string position;
    int64_t rows = 0;  // of this reading
    int64_t epoch = 0;
  };
  // Batches that were read before they were asked for, and where the input stood before them.
  struct Ahead {
    Place before;
    std::vector<Batch> batches;
    std::exception_ptr failure;
  };

  void restore(const InputState& saved, bool continue_input);
  void read_ahead();
  Place place() const { return {iterator_.position(), iterator_.rows_seen(), iterator_.epoch()}; }
  // Before the batches at hand, or before what follows.
  Place now() const { return at_hand_ ? before_ : ahead_ ? ahead_->before : place(); }

  Dataset dataset_;
  size_t batches_per_step_;
  uint64_t fingerprint_;
  DatasetIterator iterator_;
  Place before_;  // the batches at hand
  bool at_hand_ = false;
  std::optional<Ahead> ahead_;
  int64_t examples_before_ = 0;
};

// Up to `most` batches; fewer at the end of the input.
std::vector<Batch> read_batches(DatasetIterator& input, size_t most);

}  // namespace belfry::internal
