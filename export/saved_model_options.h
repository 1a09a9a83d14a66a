// How an export is written as TensorFlow's SavedModel.
#pragma once

#include <cstdint>

namespace belfry {

enum class SavedModelWeights {
  kAutomatic,  // constants, or variables where those are too large for a message
  kConstants,
  kVariables,
};

struct SavedModelOptions {
  SavedModelWeights weights = SavedModelWeights::kAutomatic;
  // Protobuf holds 2 GB in a message. More in constants is a problem, or makes variables of the weights.
  int64_t constant_bytes_limit = 1'900'000'000;
  bool as_text = false;  // saved_model.pbtxt: for people and for diff
};

}  // namespace belfry
