// Belfry's own entries of a checkpoint that are not variables.
#pragma once

#include <optional>
#include <string>

#include "checkpoint/checkpoint_entry.h"
#include "checkpoint/checkpoint_reader.h"

namespace belfry::internal {

struct InputState;

bool is_input_entry(const std::string& name);
// Nothing when the checkpoint has none, as one of TensorFlow's.
std::optional<InputState> read_input_state(const CheckpointReader& reader);
void add_input_state(const InputState& state, CheckpointEntries& entries);

}  // namespace belfry::internal
