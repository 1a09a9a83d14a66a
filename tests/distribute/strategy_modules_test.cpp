#include <torch/torch.h>

#include "distribute/step_context.h"
#include "tests/distribute/strategies.h"
#include "tests/testing.h"

using belfry::StepContext;
using belfry::VariableKind;
using belfry::testing::replica_id;
using belfry::testing::strategy_named;
using Catch::Contains;

TEST_CASE("a module is made once on each replica, with variables that all share", "[strategy][S28][S32]") {
  for (const char* name : {"mirrored_3", "central_2", "one_device"}) {
    const auto strategy = strategy_named(name, 5);
    const auto weights = strategy->run([] {
      auto net = StepContext::current()->module("net", [] { return torch::nn::Linear(3, 2); });
      return net->weight.detach();
    });
    CHECK(strategy->store().find("net/weight") != nullptr);
    CHECK(strategy->store().variables(VariableKind::kParameter).size() == 2);
    for (const at::Tensor& weight : weights) CHECK(weight.equal(strategy->store().find("net/weight")->value()));
    const auto again = strategy->run(
        [] { return StepContext::current()->module("net", [] { return torch::nn::Linear(3, 2); })->weight.detach(); });
    CHECK(again[0].data_ptr() == weights[0].data_ptr());
  }
}

TEST_CASE("buffers of a module become the mean of the replicas'", "[strategy]") {
  const auto strategy = strategy_named("mirrored_2");
  const auto forward = [] {
    auto norm = StepContext::current()->module("norm", [] { return torch::nn::BatchNorm1d(1); });
    return norm->forward(torch::tensor({{1.0}, {3.0}}, torch::kFloat) * (replica_id() + 1));
  };
  strategy->run(forward);
  // Batch means 2 and 4, momentum 0.1.
  CHECK(strategy->store().find("norm/running_mean")->value().item<float>() == Approx(0.3));
  CHECK(strategy->store().find("norm/num_batches_tracked")->value().item<int64_t>() == 1);
  {
    const torch::NoGradGuard evaluation;  // the module is in eval mode then, and its buffers stay
    strategy->run(forward);
  }
  CHECK(strategy->store().find("norm/running_mean")->value().item<float>() == Approx(0.3));
}

TEST_CASE("a module that replicas make differently is refused", "[strategy]") {
  const auto strategy = strategy_named("mirrored_2");
  const auto call = [&] {
    strategy->run([] { StepContext::current()->module("net", [] { return torch::nn::Linear(3, replica_id() + 1); }); });
  };
  CHECK_THROWS_WITH(call(), Contains("'net/weight'"));
}
