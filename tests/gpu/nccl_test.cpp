#include <torch/torch.h>

#include <mutex>
#include <string>

#include "core/log.h"
#include "distribute/internal/nccl_reduce.h"
#include "distribute/mirrored_strategy.h"
#include "distribute/step_context.h"
#include "tests/gpu/gpu_model.h"
#include "tests/gpu/gpu_testing.h"
#include "tests/support/temporary_directory.h"

namespace belfry::testing {
namespace {

// What the log said of where gradients are added up, in a training over `devices`.
std::string told_of(const std::vector<std::string>& devices) {
  std::mutex mutex;
  std::string text;
  const LogSink before = set_log_sink([&](LogLevel, std::string_view message) {
    const std::lock_guard lock(mutex);
    if (message.starts_with("gradients of ")) text.append(message).append("\n");
  });
  train_classifier(devices, "", 3);
  set_log_sink(before);
  return text;
}

TEST_CASE("NCCL adds up what lies on two GPUs as a plain sum does", "[gpu][nccl]") {
  NEEDS_GPUS(2);
  REQUIRE(internal::has_nccl());
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16}) {
    const at::Tensor first = torch::randn({100003}).to(dtype);
    const at::Tensor second = torch::randn({100003}).to(dtype);
    for (const size_t root : {0, 1}) {
      INFO(dtype << " to GPU " << root);
      std::vector<at::Tensor> parts{first.to("cuda:0"), second.to("cuda:1")};
      internal::nccl_reduce(parts, root);
      CHECK(at::equal(parts[root].cpu(), first + second));  // of two numbers there is one sum, in any order
      CHECK(parts[root].device().index() == static_cast<int>(root));
    }
  }
}

TEST_CASE("Parts that NCCL cannot take are Belfry's error, and the next sum is right", "[gpu][nccl]") {
  NEEDS_GPUS(2);
  REQUIRE(internal::has_nccl());
  std::vector<at::Tensor> uneven{torch::ones({2}, torch::kCUDA), torch::ones({3}, at::Device(at::kCUDA, 1))};
  CHECK_THROWS_AS(internal::nccl_reduce(uneven, 0), Error);
  std::vector<at::Tensor> even{torch::ones({2}, torch::kCUDA), torch::ones({2}, at::Device(at::kCUDA, 1))};
  internal::nccl_reduce(even, 0);
  CHECK(at::equal(even[0].cpu(), at::full({2}, 2.0)));
}

TEST_CASE("Towers on two GPUs add up by NCCL, and the log says so once", "[gpu][nccl]") {
  NEEDS_GPUS(2);
  REQUIRE(internal::has_nccl());
  CHECK(told_of({"cuda:0", "cuda:1"}) ==
        "gradients of 2 devices: those of 4 variables are added up by NCCL, of 0 one by one in the order of devices\n");
}

TEST_CASE("Two towers on one GPU add up in tower order, and the log says so once", "[gpu][nccl]") {
  NEEDS_GPUS(1);
  CHECK(told_of({"cuda:0", "cuda:0"}) ==
        "gradients of 2 devices: those of 0 variables are added up by NCCL, of 4 one by one in the order of devices "
        "(net/hidden/bias: they are not each on a GPU of their own)\n");
}

TEST_CASE("NCCL writes the sum to both GPUs", "[gpu][nccl]") {
  NEEDS_GPUS(2);
  REQUIRE(internal::has_nccl());
  const at::Tensor first = torch::randn({100003}), second = torch::randn({100003});
  std::vector<at::Tensor> parts{first.to("cuda:0"), second.to("cuda:1")};
  internal::nccl_all_reduce(parts);
  for (const at::Tensor& part : parts) CHECK(at::equal(part.cpu(), first + second));
}

TEST_CASE("all_reduce of replicas on two GPUs goes by NCCL and gives each its own result", "[gpu][nccl]") {
  NEEDS_GPUS(2);
  MirroredStrategy strategy({.devices = {"cuda:0", "cuda:1"}});
  for (const int64_t bytes_per_pack : {0, 1000}) {
    for (const char* op : {"sum", "mean"}) {
      const auto results = strategy.run([&] {
        ReplicaContext& replica = *get_replica_context();
        const at::Device device = StepContext::current()->device();
        std::vector<at::Tensor> values;
        for (int64_t i = 0; i < 20; ++i) {
          values.push_back(torch::full({i, 7}, i + replica.replica_id(),
                                       at::TensorOptions(device).dtype(i % 2 ? at::kFloat : at::kDouble)));
        }
        return replica.all_reduce(
            op, values, {.bytes_per_pack = bytes_per_pack, .implementation = CommunicationImplementation::kNccl});
      });
      for (size_t replica = 0; replica < 2; ++replica) {
        for (int64_t i = 0; i < 20; ++i) {
          const at::Tensor& result = results[replica][static_cast<size_t>(i)];
          CHECK(result.device().index() == static_cast<int>(replica));
          const double sum = 2.0 * static_cast<double>(i) + 1;
          CHECK(at::equal(result.cpu(),
                          at::full({i, 7}, op[0] == 's' ? sum : sum / 2, i % 2 ? at::kFloat : at::kDouble)));
        }
      }
    }
  }
}

}  // namespace
}  // namespace belfry::testing
