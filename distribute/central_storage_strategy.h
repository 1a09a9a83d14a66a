// One copy of every variable, and several devices that compute.
#pragma once

#include <string>
#include <vector>

#include "strategy.h"

namespace belfry {

struct CentralStorageStrategyOptions {
  // None: all GPUs; without one, the CPU as one replica.
  std::vector<std::string> compute_devices = {};
  // Where variables are. None: the compute device where there is one only, else the CPU.
  std::string parameter_device = {};
  uint64_t seed = 0;
  CommunicationOptions communication_options = {};
};

// One replica for each compute device; variables live on the parameter device, where they are updated once for all, and
// replicas on other devices read copies that are refreshed when they have changed. kInvalidArgument for a device that
// is not there or given twice.
class CentralStorageStrategy : public Strategy {
 public:
  explicit CentralStorageStrategy(const CentralStorageStrategyOptions& options = {});

  std::unique_ptr<Strategy> like_this(uint64_t seed) const override;
};

}  // namespace belfry
