#include "distribute/mirrored_strategy.h"

#include <algorithm>
#include <thread>

#include "core/error.h"

namespace belfry {
namespace {

std::vector<LogicalDevice> devices_of(const MirroredStrategyOptions& options) {
  if (!options.devices.empty()) return parse_devices(options.devices);
  std::vector<LogicalDevice> devices = parse_devices(default_devices());
  if (!devices[0].device.is_cpu()) return devices;
  for (unsigned i = 1; i < std::thread::hardware_concurrency(); ++i) devices.push_back(parse_device(concat("cpu:", i)));
  return devices;
}

}  // namespace

MirroredStrategy::MirroredStrategy(const MirroredStrategyOptions& options)
    : Strategy("MirroredStrategy", devices_of(options), devices_of(options)[0],
               {.seed = options.seed, .communication_options = options.communication_options}) {
  make_state();
}

std::unique_ptr<Strategy> MirroredStrategy::like_this(uint64_t seed) const {
  return std::make_unique<MirroredStrategy>(MirroredStrategyOptions{
      .devices = names_of(worker_devices()), .seed = seed, .communication_options = communication_options()});
}

}  // namespace belfry
