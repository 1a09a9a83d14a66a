#include "distribute/communication_options.h"

#include "core/error.h"

namespace belfry {

const char* to_string(CommunicationImplementation implementation) {
  switch (implementation) {
    case CommunicationImplementation::kAuto:
      return "AUTO";
    case CommunicationImplementation::kSharedMemory:
      return "SHARED_MEMORY";
    case CommunicationImplementation::kNccl:
      return "NCCL";
  }
  return "?";
}

void check(const CommunicationOptions& options, const char* what) {
  require(options.bytes_per_pack >= 0, what, ": bytes_per_pack is ", options.bytes_per_pack, "; 0 or more is wanted");
  require(!options.timeout_seconds || *options.timeout_seconds > 0, what, ": timeout_seconds is ",
          options.timeout_seconds.value_or(0), "; more than 0 is wanted");
}

}  // namespace belfry
