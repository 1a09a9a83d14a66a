// SavedModels as they lie in an export. Programs with it need belfry_use_protos.
#pragma once

#include <google/protobuf/text_format.h>

#include <string>

#include "belfry/core/saved_model.pb.h"
#include "core/error.h"
#include "core/file_system.h"

namespace belfry::testing {

// Of saved_model.pb or saved_model.pbtxt.
inline proto::SavedModel read_saved_model(const std::string& path) {
  const std::string bytes = read_file(posix_file_system(), path);
  proto::SavedModel message;
  const bool is_read = path.ends_with(".pbtxt") ? google::protobuf::TextFormat::ParseFromString(bytes, &message)
                                                : message.ParseFromString(bytes);
  require(is_read, path, " is no SavedModel");
  return message;
}

}  // namespace belfry::testing
