#include "distribute/internal/device_streams.h"

#include <ATen/ATen.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace belfry::internal {
namespace {

using Streams = c10::impl::VirtualGuardImpl;

// `later` goes on when all that `earlier` holds by now is done.
void order(const c10::Stream& earlier, const c10::Stream& later) {
  if (earlier == later) return;
  c10::Event done(earlier.device_type());
  done.record(earlier);
  done.block(later);
}

// After `work` has thrown: its exception is the one to tell of, not that the device is beyond use.
void order_if_possible(const c10::Stream& earlier, const c10::Stream& later) {
  try {
    order(earlier, later);
  } catch (const std::exception&) {
  }
}

}  // namespace

std::optional<c10::Stream> new_stream(at::Device device) {
  if (device.is_cpu()) return std::nullopt;
  return Streams(device.type()).getStreamFromGlobalPool(device);
}

void run_on_stream(const std::optional<c10::Stream>& stream, const std::function<void()>& work) {
  if (!stream) return work();
  const c10::Stream device_default = Streams(stream->device_type()).getDefaultStream(stream->device());
  order(device_default, *stream);
  try {
    const c10::StreamGuard guard(*stream);
    work();
  } catch (...) {
    order_if_possible(*stream, device_default);
    throw;
  }
  order(*stream, device_default);
}

void publish(at::Device device) {
  if (device.is_cpu()) return;
  const Streams streams(device.type());
  order(streams.getStream(device), streams.getDefaultStream(device));
}

void take_over(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.is_cpu()) return;
  if (tensor.is_sparse()) {
    take_over(tensor._indices());
    return take_over(tensor._values());
  }
  const Streams streams(tensor.device().type());
  const c10::Stream own = streams.getStream(tensor.device());
  order(streams.getDefaultStream(tensor.device()), own);
  streams.recordDataPtrOnStream(tensor.storage().data_ptr(), own);
}

void wait_for(at::Device device) {
  if (!device.is_cpu()) Streams(device.type()).getStream(device).synchronize();
}

}  // namespace belfry::internal
