// Where model directories of TensorFlow lie.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/support/test_data.h"

namespace belfry::testing {

// tf_checkpoints in the folder that BELFRY_REFERENCE_DIR names, where it has one; else the project's own.
inline std::string tf_checkpoints_folder() {
  const char* other = std::getenv("BELFRY_REFERENCE_DIR");
  const std::string theirs = std::string(other ? other : "") + "/tf_checkpoints";
  if (other && std::filesystem::is_directory(theirs)) return theirs;
  return test_data("reference/tf_checkpoints");
}

}  // namespace belfry::testing
