// Strategies over logical devices, as the reference names them.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "distribute/central_storage_strategy.h"
#include "distribute/mirrored_strategy.h"
#include "distribute/one_device_strategy.h"

namespace belfry::testing {

inline std::vector<std::string> cpus(int count) {
  std::vector<std::string> devices;
  for (int i = 0; i < count; ++i) devices.push_back("cpu:" + std::to_string(i));
  return devices;
}

// "mirrored_3", "central_2", "one_device".
inline std::unique_ptr<Strategy> strategy_named(const std::string& name, uint64_t seed = 0) {
  if (name == "one_device") return std::make_unique<OneDeviceStrategy>("cpu:0", StrategyOptions{.seed = seed});
  const size_t bar = name.find('_');
  const std::vector<std::string> devices = cpus(std::stoi(name.substr(bar + 1)));
  if (name.starts_with("mirrored_")) {
    return std::make_unique<MirroredStrategy>(MirroredStrategyOptions{.devices = devices, .seed = seed});
  }
  require(name.starts_with("central_"), "no strategy is named ", name);
  return std::make_unique<CentralStorageStrategy>(
      CentralStorageStrategyOptions{.compute_devices = devices, .seed = seed});
}

// Catch2 takes one assertion at a time: held by replicas that make some. Not while they wait for each other.
class InTurn {
 public:
  InTurn() : lock_(mutex()) {}

 private:
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  std::lock_guard<std::mutex> lock_;
};

// The replica's own value of a PerReplica inside a run.
inline int replica_id() { return get_replica_context()->replica_id(); }

}  // namespace belfry::testing
