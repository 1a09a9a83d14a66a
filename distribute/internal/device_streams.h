// Streams: the queues of a GPU. Nothing here does anything for the CPU, which has none.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>

#include <functional>
#include <optional>

namespace belfry::internal {

// A stream for one replica to keep. Replicas on one device get different ones, so that the device can run them side by
// side.
std::optional<c10::Stream> new_stream(at::Device device);

// Runs `work`, whose operations on the stream's device go into the stream. It starts after all that the device's
// default stream holds by now, and the default stream goes on after it: whoever works on the default stream, in any
// thread, before and after, needs no care. That also holds when `work` throws. The stream's device is the current one
// for as long. Without a stream, it just runs `work`.
void run_on_stream(const std::optional<c10::Stream>& stream, const std::function<void()>& work);

// Between replicas that run at once: one publishes what it has computed on a device, and, once the threads have met,
// the others take the tensors over. Published work is what the default stream waits for; a tensor taken over is read
// by this thread after that, and its memory is not given to others before.
void publish(at::Device device);
void take_over(const at::Tensor& tensor);

// Waits, on the host, for all that this thread has given the device.
void wait_for(at::Device device);

}  // namespace belfry::internal
