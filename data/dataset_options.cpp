#include "data/dataset_options.h"

namespace belfry {

const char* to_string(AutoShardPolicy policy) {
  switch (policy) {
    case AutoShardPolicy::kAuto:
      return "auto";
    case AutoShardPolicy::kFile:
      return "file";
    case AutoShardPolicy::kData:
      return "data";
    case AutoShardPolicy::kOff:
      return "off";
    case AutoShardPolicy::kHint:
      return "hint";
  }
  return "unknown";
}

}  // namespace belfry
