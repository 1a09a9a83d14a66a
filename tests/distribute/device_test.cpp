#include "distribute/device.h"

#include "core/error.h"
#include "tests/testing.h"

using belfry::parse_device;
using Catch::Contains;

TEST_CASE("logical CPU devices are one device of LibTorch", "[device]") {
  CHECK(parse_device("cpu:3").device == c10::Device(c10::kCPU));
  CHECK(parse_device("cpu:3").name == "cpu:3");
  CHECK(parse_device("/CPU:1") == parse_device("cpu:1"));
  CHECK_FALSE(parse_device("cpu:0") == parse_device("cpu:1"));
  CHECK(parse_device("cpu").device.is_cpu());
}

TEST_CASE("a name that is no device is refused with the name", "[device]") {
  for (const char* name : {"", "cpu:", "cpu:-1", "cpu:+1", "cpu:1x", "cpu:99999999999", "tpu:0", "cpu 0", "//cpu:0"}) {
    CHECK_THROWS_WITH(parse_device(name), Contains("'" + std::string(name) + "'") && Contains("cuda:N"));
  }
}

TEST_CASE("a GPU that is not there is refused with the number of GPUs", "[device]") {
  CHECK_THROWS_WITH(parse_device("/GPU:1000"), Contains("GPU:1000") && Contains("GPUs"));
}

TEST_CASE("there is always a default device, and it can be parsed", "[device]") {
  const auto names = belfry::default_devices();
  REQUIRE_FALSE(names.empty());
  CHECK(belfry::parse_devices(names).size() == names.size());
}
