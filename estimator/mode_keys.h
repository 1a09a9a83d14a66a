// What a model_fn is called for.
#pragma once

namespace belfry {

enum class ModeKeys { kTrain, kEval, kPredict };

// "train", "eval" and "infer", as TensorFlow writes them.
const char* to_string(ModeKeys mode);

}  // namespace belfry
