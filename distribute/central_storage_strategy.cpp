#include "distribute/central_storage_strategy.h"

namespace belfry {
namespace {

std::vector<LogicalDevice> compute_devices_of(const CentralStorageStrategyOptions& options) {
  return parse_devices(options.compute_devices.empty() ? default_devices() : options.compute_devices);
}

LogicalDevice parameter_device_of(const CentralStorageStrategyOptions& options) {
  if (!options.parameter_device.empty()) return parse_device(options.parameter_device);
  const std::vector<LogicalDevice> devices = compute_devices_of(options);
  return devices.size() == 1 ? devices[0] : parse_device("cpu:0");
}

}  // namespace

CentralStorageStrategy::CentralStorageStrategy(const CentralStorageStrategyOptions& options)
    : Strategy("CentralStorageStrategy", compute_devices_of(options), parameter_device_of(options),
               {.seed = options.seed, .communication_options = options.communication_options}) {
  make_state();
}

std::unique_ptr<Strategy> CentralStorageStrategy::like_this(uint64_t seed) const {
  return std::make_unique<CentralStorageStrategy>(
      CentralStorageStrategyOptions{.compute_devices = names_of(worker_devices()),
                                    .parameter_device = parameter_device().name,
                                    .seed = seed,
                                    .communication_options = communication_options()});
}

}  // namespace belfry
