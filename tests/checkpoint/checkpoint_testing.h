// What the tests of this folder share. Needs tests/testing.h before it.
#pragma once

#include <optional>
#include <string>

#include "checkpoint/checkpoint_entry.h"
#include "checkpoint/checkpoint_reader.h"
#include "core/error.h"
#include "tests/testing.h"

namespace belfry::testing {

// A few variables of several types, other values for another seed.
inline CheckpointEntries sample_entries(int64_t seed) {
  return {{"net/weight", at::arange(6, at::kFloat).reshape({2, 3}) + seed},
          {"global_step", at::scalar_tensor(seed, at::kLong)},
          {"words", StringTensor({"a", "", "seed " + std::to_string(seed), "d"}, {2, 2})},
          {"empty", at::empty({0, 4}, at::kDouble)}};
}

inline bool same(const Value& a, const Value& b) {
  if (a.is_strings() != b.is_strings()) return false;
  if (a.is_strings()) return a.strings() == b.strings();
  return a.tensor().scalar_type() == b.tensor().scalar_type() && a.tensor().equal(b.tensor());
}

inline bool holds(const CheckpointReader& reader, const CheckpointEntries& entries) {
  if (reader.variables().size() != entries.size()) return false;
  for (const CheckpointEntry& entry : entries) {
    if (!reader.contains(entry.name) || !same(reader.value(entry.name), entry.value)) return false;
  }
  return true;
}

// The kind of the Error that `call` throws, or nothing.
template <class Call>
std::optional<ErrorKind> kind_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.kind();
  }
  return std::nullopt;
}

}  // namespace belfry::testing
