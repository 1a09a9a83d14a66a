#include "estimator/internal/checkpoint_names.h"

#include <ATen/ATen.h>

#include "estimator/internal/session.h"

namespace belfry::internal {
namespace {

constexpr const char* kPrefix = "belfry/input/";
constexpr const char* kPosition = "belfry/input/position";
constexpr const char* kFingerprint = "belfry/input/fingerprint";
constexpr const char* kFinished = "belfry/input/finished";
constexpr const char* kExamplesSeen = "belfry/input/examples_seen";

}  // namespace

bool is_input_entry(const std::string& name) { return name.starts_with(kPrefix); }

std::optional<InputState> read_input_state(const CheckpointReader& reader) {
  for (const char* name : {kPosition, kFingerprint, kFinished, kExamplesSeen}) {
    if (!reader.contains(name)) return std::nullopt;
  }
  InputState state;
  state.position = reader.strings(kPosition)[0];
  state.fingerprint = static_cast<uint64_t>(reader.tensor(kFingerprint).item<int64_t>());
  state.finished = reader.tensor(kFinished).item<bool>();
  state.examples_seen = reader.tensor(kExamplesSeen).item<int64_t>();
  return state;
}

void add_input_state(const InputState& state, CheckpointEntries& entries) {
  entries.push_back({kPosition, StringTensor({state.position}, {})});
  entries.push_back({kFingerprint, at::full({}, static_cast<int64_t>(state.fingerprint), at::kLong)});
  entries.push_back({kFinished, at::full({}, state.finished, at::kBool)});
  entries.push_back({kExamplesSeen, at::full({}, state.examples_seen, at::kLong)});
}

}  // namespace belfry::internal
