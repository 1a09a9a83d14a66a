// Messages as bytes.
#pragma once

#include <google/protobuf/message_lite.h>

#include <string>

namespace belfry::internal {

// Equal messages give equal bytes: maps are written in the order of their keys. kInternal when the message is larger
// than protobuf can write.
std::string deterministic_bytes(const google::protobuf::MessageLite& message);

}  // namespace belfry::internal
