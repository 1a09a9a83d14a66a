#include "distribute/internal/device_streams.h"

#include <ATen/ATen.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "tests/testing.h"

using belfry::internal::new_stream;
using belfry::internal::publish;
using belfry::internal::run_on_stream;
using belfry::internal::take_over;
using belfry::internal::wait_for;

namespace {

// What the device below was told, in order.
std::vector<std::string> told;

void tell(const std::string& what, c10::StreamId stream) { told.push_back(what + std::to_string(stream)); }

constexpr auto kType = c10::DeviceType::PrivateUse1;
const c10::Device kDevice(kType, 0);

// A device that computes nothing and keeps a diary. Stream 0 is its default one.
struct DiaryDevice final : c10::impl::DeviceGuardImplInterface {
  static constexpr c10::DeviceType static_type = kType;
  static thread_local c10::StreamId current;
  static c10::StreamId newest;

  static c10::Stream stream(c10::StreamId id) { return c10::Stream(c10::Stream::UNSAFE, kDevice, id); }

  DiaryDevice() = default;
  explicit DiaryDevice(c10::DeviceType) {}
  c10::DeviceType type() const override { return kType; }
  c10::Device exchangeDevice(c10::Device) const override { return kDevice; }
  c10::Device getDevice() const override { return kDevice; }
  void setDevice(c10::Device) const override {}
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::DeviceIndex deviceCount() const noexcept override { return 0; }  // autograd starts no thread for it
  c10::Stream getStream(c10::Device) const override { return stream(current); }
  c10::Stream getDefaultStream(c10::Device) const override { return stream(0); }
  c10::Stream getStreamFromGlobalPool(c10::Device, bool) const override { return stream(++newest); }
  c10::Stream exchangeStream(c10::Stream next) const override { return stream(std::exchange(current, next.id())); }
  void record(void** event, const c10::Stream& on, c10::DeviceIndex, c10::EventFlag) const override {
    *event = reinterpret_cast<void*>(on.id() + 1);
  }
  void block(void* event, const c10::Stream& later) const override {
    const auto earlier = reinterpret_cast<c10::StreamId>(event) - 1;
    told.push_back(std::to_string(later.id()) + " waits for " + std::to_string(earlier));
  }
  void destroyEvent(void*, c10::DeviceIndex) const noexcept override {}
  void synchronizeStream(const c10::Stream& stream) const override { tell("host waits for ", stream.id()); }
  void recordDataPtrOnStream(const c10::DataPtr&, const c10::Stream& stream) const override {
    tell("memory is kept for ", stream.id());
  }
};

thread_local c10::StreamId DiaryDevice::current = 0;
c10::StreamId DiaryDevice::newest = 0;

C10_REGISTER_GUARD_IMPL(PrivateUse1, DiaryDevice);

// A stream of the diary device, as number `id`.
std::optional<c10::Stream> stream(c10::StreamId id) { return DiaryDevice::stream(id); }

at::Tensor tensor_there() {
  static float value = 1;
  return at::for_blob(&value, {1}).options(at::TensorOptions(kDevice)).target_device(kDevice).make_tensor();
}

using Diary = std::vector<std::string>;

}  // namespace

TEST_CASE("replicas on one device get different streams, and none on the CPU", "[streams]") {
  const auto first = new_stream(kDevice);
  const auto second = new_stream(kDevice);
  REQUIRE(first.has_value());
  REQUIRE(second.has_value());
  CHECK(first->id() != second->id());
  CHECK(!new_stream(at::Device(at::kCPU)).has_value());
}

TEST_CASE("work on a stream begins after the default stream, which goes on after it", "[streams]") {
  told.clear();
  run_on_stream(stream(4), [] { tell("work on ", DiaryDevice::current); });
  CHECK(told == Diary{"4 waits for 0", "work on 4", "0 waits for 4"});
  CHECK(DiaryDevice::current == 0);
}

TEST_CASE("work that throws is waited for too, and its exception is the caller's", "[streams]") {
  told.clear();
  CHECK_THROWS_WITH(run_on_stream(stream(4), [] { throw std::runtime_error("from work"); }), "from work");
  CHECK(told == Diary{"4 waits for 0", "0 waits for 4"});
  CHECK(DiaryDevice::current == 0);
}

TEST_CASE("what a replica publishes on its stream another takes over on its own", "[streams]") {
  told.clear();
  run_on_stream(stream(4), [] { publish(kDevice); });
  run_on_stream(stream(5), [] { take_over(tensor_there()); });
  CHECK(told == Diary{"4 waits for 0", "0 waits for 4", "0 waits for 4", "5 waits for 0", "5 waits for 0",
                      "memory is kept for 5", "0 waits for 5"});
}

TEST_CASE("on the default stream nobody waits, but the memory is kept for it", "[streams]") {
  told.clear();
  publish(kDevice);
  take_over(tensor_there());
  CHECK(told == Diary{"memory is kept for 0"});
}

TEST_CASE("the host waits for the thread's own stream", "[streams]") {
  told.clear();
  run_on_stream(stream(4), [] { wait_for(kDevice); });
  CHECK(told == Diary{"4 waits for 0", "host waits for 4", "0 waits for 4"});
}

TEST_CASE("the CPU has no streams: work just runs, and nothing is told to any device", "[streams]") {
  told.clear();
  bool ran = false;
  run_on_stream(std::nullopt, [&] { ran = true; });
  publish(at::Device(at::kCPU));
  take_over(at::ones({2}));
  take_over(at::eye(2).to_sparse());
  take_over(at::Tensor());
  wait_for(at::Device(at::kCPU));
  CHECK(ran);
  CHECK(told.empty());
}
