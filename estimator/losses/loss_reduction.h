// How the losses of a batch's entries become one number.
#pragma once

namespace belfry {

// With weights w (1 where none are given, broadcast to the entries) and losses l of the entries:
enum class LossReduction {
  kNone,                    // w * l, entry by entry
  kSum,                     // sum(w l)
  kMean,                    // sum(w l) / sum(w)
  kSumOverBatchSize,        // sum(w l) / number of entries
  kSumByNonzeroWeights,     // sum(w l) / number of entries whose weight is not 0
  kSumOverNonzeroWeights = kSumByNonzeroWeights,
};

// "SUM_BY_NONZERO_WEIGHTS" and so on.
const char* to_string(LossReduction reduction);
// Whether the value is one of the enumerators.
bool is_valid(LossReduction reduction);

}  // namespace belfry
