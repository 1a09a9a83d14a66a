// Names of devices: "cpu:0", "cpu:1", "cuda:0".
#pragma once

#include <c10/core/Device.h>

#include <string>
#include <string_view>
#include <vector>

namespace belfry {

// A place that a replica runs on. Several "cpu:N" are logical devices on the one processor, so that whatever concerns
// several devices can be run without a GPU; all of them are the same LibTorch device.
struct LogicalDevice {
  std::string name;    // "cpu:1", "cuda:0": one for each device
  c10::Device device;  // cpu, or cuda with its index

  friend bool operator==(const LogicalDevice&, const LogicalDevice&) = default;
};

// In their order.
std::vector<std::string> names_of(const std::vector<LogicalDevice>& devices);

// "cpu", "cpu:1", "cuda:0", "gpu:0", in any case, with or without a leading '/'. kInvalidArgument, with the name, for
// anything else; for a GPU that is not there it says how many there are and why that may be.
LogicalDevice parse_device(std::string_view name);
std::vector<LogicalDevice> parse_devices(const std::vector<std::string>& names);

// All GPUs; without one, {"cpu:0"}.
std::vector<std::string> default_devices();

}  // namespace belfry
