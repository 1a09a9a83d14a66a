#include "estimator/losses/loss_reduction.h"

namespace belfry {

const char* to_string(LossReduction reduction) {
  switch (reduction) {
    case LossReduction::kNone: return "NONE";
    case LossReduction::kSum: return "SUM";
    case LossReduction::kMean: return "MEAN";
    case LossReduction::kSumOverBatchSize: return "SUM_OVER_BATCH_SIZE";
    case LossReduction::kSumByNonzeroWeights: return "SUM_BY_NONZERO_WEIGHTS";
  }
  return "unknown";
}

bool is_valid(LossReduction reduction) {
  return reduction >= LossReduction::kNone && reduction <= LossReduction::kSumByNonzeroWeights;
}

}  // namespace belfry
