#include "distribute/one_device_strategy.h"

namespace belfry {

OneDeviceStrategy::OneDeviceStrategy(const std::string& device, const StrategyOptions& options)
    : Strategy("OneDeviceStrategy", {parse_device(device)}, parse_device(device), options) {
  make_state();
}

}  // namespace belfry
