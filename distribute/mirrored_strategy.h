// A copy of every variable on each of several devices.
#pragma once

#include <string>
#include <vector>

#include "strategy.h"

namespace belfry {

struct MirroredStrategyOptions {
  // None: all GPUs; without one, all processors that the machine shows, as cpu:0 .. cpu:N-1.
  std::vector<std::string> devices = {};
  uint64_t seed = 0;
  CommunicationOptions communication_options = {};
};

// One replica for each device, and variables that are equal on all of them: an update is made of what all replicas
// want, and reaches every copy. The copies of devices that share memory ("cpu:0", "cpu:1") are one. kInvalidArgument
// for a device that is not there or given twice.
class MirroredStrategy : public Strategy {
 public:
  explicit MirroredStrategy(const MirroredStrategyOptions& options = {});

  int copies_of_variables() const override { return num_replicas_in_sync(); }
  std::unique_ptr<Strategy> like_this(uint64_t seed) const override;
};

}  // namespace belfry
