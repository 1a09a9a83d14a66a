#include "benchmarks/benchmark_models.h"

#include <belfry.h>
#include <torch/torch.h>

#include <algorithm>
#include <chrono>

namespace benchmark {
namespace {

using Clock = std::chrono::steady_clock;

struct NetImpl : torch::nn::Module {
  explicit NetImpl(const std::vector<int64_t>& layers) {
    for (size_t i = 0; i + 1 < layers.size(); ++i) {
      parts.push_back(register_module("layer_" + std::to_string(i), torch::nn::Linear(layers[i], layers[i + 1])));
    }
  }

  at::Tensor forward(at::Tensor x) {
    for (size_t i = 0; i < parts.size(); ++i) {
      x = parts[i](x);
      if (i + 1 < parts.size()) x = torch::relu(x);
    }
    return x;
  }

  std::vector<torch::nn::Linear> parts;
};
TORCH_MODULE(Net);

// Rows in a new order at every pass.
class Batches {
 public:
  Batches(const Data& data, int64_t batch_size) : data_(data), batch_size_(batch_size) {}

  Data next() {
    if (!order_.defined() || position_ + batch_size_ > order_.numel()) {
      order_ = torch::randperm(data_.x.size(0));
      position_ = 0;
    }
    const at::Tensor rows = order_.narrow(0, position_, batch_size_);
    position_ += batch_size_;
    return {data_.x.index_select(0, rows), data_.y.index_select(0, rows)};
  }

 private:
  const Data& data_;
  int64_t batch_size_;
  at::Tensor order_;
  int64_t position_ = 0;
};

std::unique_ptr<torch::optim::Optimizer> make_optimizer(const Workload& workload, const Net& net) {
  if (workload.adam) {
    return std::make_unique<torch::optim::Adam>(net->parameters(), torch::optim::AdamOptions(0.001));
  }
  return std::make_unique<torch::optim::Adagrad>(net->parameters(),
                                                 torch::optim::AdagradOptions(0.05).initial_accumulator_value(0.1));
}

// Notes the time at which the warm-up has ended.
class WarmUpClock : public belfry::SessionRunHook {
 public:
  explicit WarmUpClock(int64_t steps) : steps_(steps) {}
  void after_run(belfry::RunContext& context) override {
    if (context.global_step() == steps_) ended_ = Clock::now();
  }
  double seconds_since() const { return std::chrono::duration<double>(Clock::now() - ended_).count(); }

 private:
  int64_t steps_;
  Clock::time_point ended_;
};

}  // namespace

Data make_data(const Workload& workload) {
  return {torch::randn({workload.rows, workload.layers.front()}),
          torch::randint(workload.layers.back(), {workload.rows}, torch::kInt64)};
}

double hand_written_steps_per_second(const Workload& workload, const Data& data) {
  Net net(workload.layers);
  const auto optimizer = make_optimizer(workload, net);
  Batches batches(data, workload.batch_size);
  Clock::time_point start;
  for (int64_t step = 0; step < workload.warm_up + workload.steps; ++step) {
    if (step == workload.warm_up) start = Clock::now();
    const Data batch = batches.next();
    optimizer->zero_grad();
    torch::nn::functional::cross_entropy(net(batch.x), batch.y).backward();
    optimizer->step();
  }
  return static_cast<double>(workload.steps) / std::chrono::duration<double>(Clock::now() - start).count();
}

std::vector<Workload> usual_workloads(double scale) {
  const auto scaled = [&](int64_t steps) {
    return std::max<int64_t>(1, static_cast<int64_t>(scale * static_cast<double>(steps)));
  };
  return {{"64-128-64-10, Adagrad, batch 128", {64, 128, 64, 10}, 1797, 128, false, scaled(200), scaled(2000)},
          {"784-1024-1024-10, Adam, batch 256", {784, 1024, 1024, 10}, 4096, 256, true, scaled(5), scaled(50)}};
}

belfry::ModelFn make_model_fn(const Workload& workload) {
  using namespace belfry;
  return [&workload](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
    auto net = ctx.module("net", [&] { return Net(workload.layers); });
    const at::Tensor loss = losses::sparse_softmax_cross_entropy(labels.tensor(), net(features["x"]), ctx);
    const TowerOptimizer optimizer =
        workload.adam ? TowerOptimizer(Adam()) : TowerOptimizer(Adagrad({.learning_rate = 0.05}));
    return EstimatorSpec::train(loss, optimizer.minimize(loss, ctx));
  };
}

std::vector<std::string> logical_devices(int count) {
  std::vector<std::string> devices;
  for (int i = 0; i < count; ++i) devices.push_back("cpu:" + std::to_string(i));
  return devices;
}

void train(const Workload& workload, const Data& data, belfry::ModelFn model_fn, belfry::Hooks hooks,
           std::shared_ptr<const belfry::Strategy> strategy) {
  using namespace belfry;
  Estimator estimator(std::move(model_fn), {.save_checkpoints_steps = 0,
                                            .train_distribute = std::move(strategy),
                                            .save_summary_steps = 0,
                                            .log_step_count_steps = 0});
  const auto input = [&](const InputContext& context) {
    return Dataset::from_tensors({{"x", data.x}}, data.y)
        .shuffle({.seed = 1})
        .repeat()
        .batch(context.get_per_replica_batch_size(workload.batch_size), {.drop_remainder = true});
  };
  estimator.train(input, {.steps = workload.warm_up + workload.steps, .hooks = std::move(hooks)});
}

double estimator_steps_per_second(const Workload& workload, const Data& data, int towers) {
  const auto clock = std::make_shared<WarmUpClock>(workload.warm_up);
  train(workload, data, belfry::replicate_model_fn(make_model_fn(workload), {.devices = logical_devices(towers)}),
        {clock});
  return static_cast<double>(workload.steps) / clock->seconds_since();
}

double mirrored_steps_per_second(const Workload& workload, const Data& data, int replicas) {
  const auto clock = std::make_shared<WarmUpClock>(workload.warm_up);
  train(workload, data, make_model_fn(workload), {clock},
        std::make_shared<belfry::MirroredStrategy>(
            belfry::MirroredStrategyOptions{.devices = logical_devices(replicas)}));
  return static_cast<double>(workload.steps) / clock->seconds_since();
}

}  // namespace benchmark
