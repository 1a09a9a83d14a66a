// What LibTorch refuses inside of a model_fn, as an error of Belfry's.
#pragma once

#include <c10/util/Exception.h>

#include <vector>

#include "data/batch.h"
#include "estimator/mode_keys.h"

namespace belfry::internal {

// Whether a device or the machine had no memory left: callers look for the exception as LibTorch threw it.
bool is_out_of_memory(const c10::Error& error);

// Throws LibTorch's words with the mode and what the model_fn was given: kUnimplemented where LibTorch lacks the
// operation, kInvalidArgument otherwise.
[[noreturn]] void fail_in_model_fn(const c10::Error& error, ModeKeys mode, const std::vector<Batch>& batches);

}  // namespace belfry::internal
