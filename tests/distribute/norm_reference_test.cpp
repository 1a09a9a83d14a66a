// Batch normalization under strategies, against reference/distribute.json.
#include <torch/torch.h>

#include "distribute/step_context.h"
#include "distribute/sync_batch_norm_module.h"
#include "tests/distribute/distribute_json.h"
#include "tests/distribute/strategies.h"

namespace belfry {
namespace {

using testing::Json;

// Keras counts the old statistics' share as momentum, LibTorch the new one's.
torch::nn::BatchNormOptions options_of(const Json& file) {
  return torch::nn::BatchNormOptions(file.at("features").get<int64_t>())
      .momentum(1 - file.at("momentum").get<double>())
      .eps(file.at("epsilon").get<double>());
}

template <class Norm>
PerReplica<at::Tensor> normalize(Strategy& strategy, const Json& file, const PerReplica<at::Tensor>& inputs) {
  return strategy.run(
      [&](const at::Tensor& input) {
        return StepContext::current()->module("norm", [&] { return Norm(options_of(file)); })->forward(input).detach();
      },
      inputs);
}

// Keras adds the biased variance of a batch to the running one, LibTorch the unbiased: `running` by Keras's rule, from
// LibTorch's and what it was before.
class RunningVariance {
 public:
  RunningVariance(double momentum, bool synchronized) : momentum_(momentum), synchronized_(synchronized) {}

  // From the inputs alone, by either rule; replicas count equally.
  void step(const std::vector<at::Tensor>& inputs) {
    std::vector<at::Tensor> parts = synchronized_ ? std::vector<at::Tensor>{at::cat(inputs)} : inputs;
    at::Tensor biased, unbiased;
    for (const at::Tensor& part : parts) {
      const auto add = [&](at::Tensor& to, const at::Tensor& value) {
        const at::Tensor share = value / static_cast<double>(parts.size());
        to = to.defined() ? to + share : share;
      };
      add(biased, part.var(0, /*unbiased=*/false));
      add(unbiased, part.var(0, /*unbiased=*/true));
    }
    keras_ = momentum_ * keras_ + (1 - momentum_) * biased;
    libtorch_ = momentum_ * libtorch_ + (1 - momentum_) * unbiased;
  }

  const at::Tensor& keras() const { return keras_; }
  const at::Tensor& libtorch() const { return libtorch_; }

 private:
  double momentum_;
  bool synchronized_;
  at::Tensor keras_ = torch::ones({1}), libtorch_ = torch::ones({1});
};

}  // namespace

TEST_CASE("batch norm on each replica and over all gives what the original's gives",
          "[strategy][reference][S28][R15]") {
  const Json file = testing::reference("distribute").at("norm");
  for (const Json& reference : file.at("cases")) {
    const bool synchronized = reference.at("kind") == "synchronized";
    INFO(reference.at("strategy") << " " << reference.at("kind"));
    const auto strategy = testing::strategy_named(reference.at("strategy"));
    RunningVariance variance(file.at("momentum"), synchronized);
    for (const Json& step : reference.at("result")) {
      const std::vector<at::Tensor> inputs = testing::tensors_of(step.at("input"));
      const PerReplica<at::Tensor> given(inputs);
      const auto outputs = synchronized ? normalize<SyncBatchNorm>(*strategy, file, given)
                                        : normalize<torch::nn::BatchNorm1d>(*strategy, file, given);
      for (size_t i = 0; i < inputs.size(); ++i) testing::check_tensor(outputs[i], step.at("output")[i]);
      const auto running = [&](const char* name) { return strategy->store().find(name)->value(); };
      testing::check_close(running("norm/running_mean"), testing::to_tensor(step.at("moving_mean")), 1e-5, 1e-6);
      variance.step(inputs);
      testing::check_close(variance.keras(), testing::to_tensor(step.at("moving_variance")), 1e-5, 1e-6);
      testing::check_close(running("norm/running_var"), variance.libtorch(), 1e-5, 1e-6);
    }
  }
}

TEST_CASE("synchronized batch norm has the gradients of one device", "[strategy][R15]") {
  const at::Tensor x = torch::randn({9, 3, 2}, torch::kDouble), goal = torch::randn({9, 3, 2}, torch::kDouble);
  const auto gradients = [&](Strategy& strategy, const std::vector<int64_t>& sizes) {
    const auto grads = strategy.run(
        [&](const at::Tensor& input, const at::Tensor& wanted) {
          auto norm = StepContext::current()->module("norm", [] { return SyncBatchNorm(3); });
          norm->to(torch::kDouble);
          const at::Tensor mine = input.clone().set_requires_grad(true);
          (norm->forward(mine) - wanted).pow(3).sum().backward();
          return mine.grad();
        },
        PerReplica<at::Tensor>(x.split_with_sizes(sizes)), PerReplica<at::Tensor>(goal.split_with_sizes(sizes)));
    return at::cat(grads.components());
  };
  const at::Tensor one = gradients(*testing::strategy_named("one_device"), {9});
  testing::check_close(gradients(*testing::strategy_named("mirrored_3"), {4, 3, 2}), one, 1e-9, 1e-12);
  testing::check_close(gradients(*testing::strategy_named("central_2"), {9, 0}), one, 1e-9, 1e-12);
}

TEST_CASE("SyncBatchNorm is LibTorch's batch norm where nothing is to be synchronized", "[strategy]") {
  SyncBatchNorm sync(torch::nn::BatchNormOptions(2).momentum(0.3));
  torch::nn::BatchNorm2d plain(torch::nn::BatchNormOptions(2).momentum(0.3));
  const at::Tensor x = torch::randn({4, 2, 3, 3});
  CHECK(sync->forward(x).equal(plain->forward(x)));
  CHECK(sync->running_var.equal(plain->running_var));
  sync->eval();
  plain->eval();
  CHECK(sync->forward(x).equal(plain->forward(x)));
  std::ostringstream text;
  text << *sync;
  CHECK(text.str().find("SyncBatchNorm(2, eps=1e-05, momentum=0.3") != std::string::npos);
  CHECK_THROWS_AS(sync->forward(torch::ones({2})), Error);
}

TEST_CASE("SyncBatchNorm without a momentum keeps the mean of all steps", "[strategy]") {
  const auto strategy = testing::strategy_named("mirrored_2");
  const auto step = [&](double shift) {
    strategy->run([&] {
      auto norm = StepContext::current()->module(
          "norm", [] { return SyncBatchNorm(torch::nn::BatchNormOptions(1).momentum(std::nullopt)); });
      norm->forward(torch::tensor({{0.0}, {2.0}}, torch::kFloat) + shift + 2 * testing::replica_id());
    });
  };
  step(0);  // 0 2 2 4
  step(4);  // 4 6 6 8
  CHECK(strategy->store().find("norm/running_mean")->value().item<float>() == Approx(4));
  CHECK(strategy->store().find("norm/num_batches_tracked")->value().item<int64_t>() == 2);
}

}  // namespace belfry
