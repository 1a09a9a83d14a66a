#include "distribute/one_device_strategy.h"

namespace belfry {

OneDeviceStrategy::OneDeviceStrategy(const std::string& device, const StrategyOptions& options)
    : Strategy("OneDeviceStrategy", {parse_device(device)}, parse_device(device), options) {
  make_state();
}

std::unique_ptr<Strategy> OneDeviceStrategy::like_this(uint64_t seed) const {
  return std::make_unique<OneDeviceStrategy>(
      worker_devices()[0].name, StrategyOptions{.seed = seed, .communication_options = communication_options()});
}

}  // namespace belfry
