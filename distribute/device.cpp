#include "distribute/device.h"

#include <ATen/Context.h>
#include <ATen/detail/CUDAHooksInterface.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>

#include "core/error.h"

namespace belfry {
namespace {

int gpu_count() { return at::globalContext().hasCUDA() ? at::detail::getCUDAHooks().deviceCount() : 0; }

[[noreturn]] void refuse(std::string_view name) {
  fail(ErrorKind::kInvalidArgument, "device '", name, "': wanted cpu:N, cuda:N or gpu:N with N from 0");
}

int parse_index(std::string_view text, std::string_view name) {
  int index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error != std::errc() || end != text.data() + text.size() || index < 0 || index > 1024) refuse(name);
  return index;
}

}  // namespace

LogicalDevice parse_device(std::string_view name) {
  std::string lower(name.starts_with('/') ? name.substr(1) : name);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  const size_t colon = lower.find(':');
  const std::string kind = lower.substr(0, colon);
  const int index = colon == std::string::npos ? 0 : parse_index(std::string_view(lower).substr(colon + 1), name);
  if (kind == "cpu") return {concat("cpu:", index), c10::Device(c10::kCPU)};
  if (kind != "cuda" && kind != "gpu") refuse(name);
  const int count = gpu_count();
  require(index < count, "device '", name, "': LibTorch sees ", count, " GPUs",
          count == 0 ? " (no driver, a CPU-only LibTorch, or its GPU half was not linked: see scripts/setup.sh --cuda)"
                     : "");
  return {concat("cuda:", index), c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(index))};
}

std::vector<LogicalDevice> parse_devices(const std::vector<std::string>& names) {
  std::vector<LogicalDevice> devices;
  for (const std::string& name : names) devices.push_back(parse_device(name));
  return devices;
}

std::vector<std::string> names_of(const std::vector<LogicalDevice>& devices) {
  std::vector<std::string> names;
  for (const LogicalDevice& device : devices) names.push_back(device.name);
  return names;
}

std::vector<std::string> default_devices() {
  std::vector<std::string> names;
  for (int i = 0; i < gpu_count(); ++i) names.push_back("cuda:" + std::to_string(i));
  if (names.empty()) names.emplace_back("cpu:0");
  return names;
}

}  // namespace belfry
