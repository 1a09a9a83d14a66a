// The training input, from where it is to go on.
#pragma once

#include <optional>

#include "data/dataset.h"
#include "estimator/internal/session.h"

namespace belfry::internal {

// Reads a data set from its start, or from where an earlier call left it. Used by one thread.
class BatchSource {
 public:
  // Goes on from `saved` when there is one, its pipeline has the fingerprint of this one, and the call that wrote it
  // was cut short (or `continue_input`). When a position is not used though there is one, the log says why.
  BatchSource(Dataset dataset, const std::optional<InputState>& saved, bool continue_input);

  std::optional<Batch> next();
  // Of what next() has handed out.
  InputState state(bool finished) const;
  int64_t examples_seen() const { return examples_before_ + iterator_.rows_seen(); }
  int64_t epochs() const { return iterator_.epoch() + 1; }

 private:
  void restore(const InputState& saved, bool continue_input);

  Dataset dataset_;
  uint64_t fingerprint_;
  DatasetIterator iterator_;
  std::optional<Batch> first_;  // read ahead to see whether a restored input had ended
  std::string first_position_;  // where the input stood before it
  int64_t first_rows_ = 0;
  int64_t examples_before_ = 0;
};

}  // namespace belfry::internal
