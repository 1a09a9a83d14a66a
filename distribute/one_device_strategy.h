// Everything on one device.
#pragma once

#include <string>

#include "strategy.h"

namespace belfry {

// Variables, data and functions of a run on one device; one replica, on the caller's thread. For programs written for
// strategies that are to run without any distribution.
class OneDeviceStrategy : public Strategy {
 public:
  // See parse_device.
  explicit OneDeviceStrategy(const std::string& device, const StrategyOptions& options = {});

  std::unique_ptr<Strategy> like_this(uint64_t seed) const override;
};

}  // namespace belfry
