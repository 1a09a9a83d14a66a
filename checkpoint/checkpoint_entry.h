// What is saved: a name and its value.
#pragma once

#include <string>
#include <vector>

#include "../core/tensor_dict.h"

namespace belfry {

struct CheckpointEntry {
  std::string name;
  Value value;
};

using CheckpointEntries = std::vector<CheckpointEntry>;

}  // namespace belfry
