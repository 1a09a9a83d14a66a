#include "estimator/mode_keys.h"

namespace belfry {

const char* to_string(ModeKeys mode) {
  switch (mode) {
    case ModeKeys::kTrain: return "train";
    case ModeKeys::kEval: return "eval";
    case ModeKeys::kPredict: return "infer";
  }
  return "unknown";
}

}  // namespace belfry
