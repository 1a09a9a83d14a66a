#include "distribute/replica_set.h"

#include <torch/torch.h>

#include <limits>

#include "core/error.h"
#include "tests/testing.h"

using belfry::ReplicaSet;
using belfry::StepContext;
using belfry::VariableStore;
using Catch::Contains;

namespace {

struct State : torch::nn::Module {
  State() {
    mean = register_buffer("mean", torch::full({2}, 0.1));
    count = register_buffer("count", torch::zeros({}, torch::kLong));
    mask = register_buffer("mask", torch::full({2}, -std::numeric_limits<float>::infinity()));
  }
  at::Tensor mean, count, mask;
};

// Towers that all hold the buffers "state/mean", "state/count" and "state/mask".
struct Towers {
  explicit Towers(int count) : store(1), replicas(store) {
    std::vector<belfry::LogicalDevice> devices;
    for (int i = 0; i < count; ++i) devices.push_back(belfry::parse_device("cpu:" + std::to_string(i)));
    replicas.use(devices);
    for (int i = 0; i < count; ++i) {
      modules.push_back(std::static_pointer_cast<State>(replicas.replica(i).module(
          "state", typeid(State), [] { return std::make_shared<State>(); }, true)));
    }
  }

  void add_step(int tower, double row_weight) {
    const int count = replicas.size();
    steps.push_back(std::make_unique<StepContext>(replicas.replica(tower),
                                                  StepContext::Options{.replica_count = count,
                                                                       .rendezvous = &replicas.group().rendezvous(),
                                                                       .loss_policy = {.row_weight = row_weight}}));
    contexts.push_back(steps.back().get());
  }

  float mean() const { return store.find("state/mean")->value()[0].item<float>(); }

  VariableStore store;
  ReplicaSet replicas;
  std::vector<std::shared_ptr<State>> modules;
  std::vector<std::unique_ptr<StepContext>> steps;
  std::vector<const StepContext*> contexts;
};

}  // namespace

TEST_CASE("buffers become the mean of the towers weighted by their rows", "[replica_set]") {
  Towers towers(3);
  towers.add_step(0, 0.75);
  towers.add_step(1, 0.25);
  towers.modules[0]->mean.fill_(4);
  towers.modules[1]->mean.fill_(8);
  towers.modules[2]->mean.fill_(100);  // sits the step out
  for (int i = 0; i < 2; ++i) towers.modules[static_cast<size_t>(i)]->count.add_(1);
  CHECK(towers.mean() == 0.1f);
  towers.replicas.prepare(towers.contexts);
  towers.replicas.commit(towers.contexts);
  CHECK(towers.mean() == 5);
  for (const auto& module : towers.modules) {
    CHECK(module->mean[1].item<float>() == 5);
    CHECK(module->count.item<int64_t>() == 1);
  }
  CHECK(towers.store.find("state/count")->value().item<int64_t>() == 1);
}

TEST_CASE("buffers that all towers agree on stay to the bit", "[replica_set]") {
  Towers towers(3);
  for (int i = 0; i < 3; ++i) towers.add_step(i, 1.0 / 3);
  for (int step = 0; step < 100; ++step) towers.replicas.commit(towers.contexts);
  CHECK(towers.mean() == 0.1f);
  CHECK(torch::isinf(towers.modules[1]->mask).all().item<bool>());
  CHECK_FALSE(torch::isnan(towers.modules[1]->mask).any().item<bool>());
}

TEST_CASE("integer buffers that differ are an error with nothing written", "[replica_set]") {
  Towers towers(3);
  for (int i = 1; i < 3; ++i) towers.add_step(i, 0.5);
  towers.modules[1]->count.fill_(2);
  towers.modules[2]->count.fill_(3);
  towers.modules[1]->mean.fill_(9);
  CHECK_THROWS_WITH(towers.replicas.prepare(towers.contexts),
                    Contains("'state/count'") && Contains("tower 1") && Contains("tower 2"));
  CHECK(towers.mean() == 0.1f);
  towers.replicas.roll_back();
  CHECK(towers.modules[1]->mean[0].item<float>() == 0.1f);
  CHECK(towers.modules[2]->count.item<int64_t>() == 0);
  CHECK_NOTHROW(towers.replicas.prepare(towers.contexts));
}

TEST_CASE("a buffer that no forward pass writes to is not copied, by its version counter", "[replica_set]") {
  struct Table : torch::nn::Module {
    at::Tensor positions = register_buffer("positions", torch::rand({3, 4}));
    at::Tensor ids = register_buffer("ids", torch::arange(6));
    at::Tensor hits = register_buffer("hits", torch::zeros({3, 4}));
  };
  for (int count = 1; count <= 3; ++count) {
    Towers towers(count);
    std::vector<std::shared_ptr<Table>> tables;
    for (int i = 0; i < count; ++i) {
      tables.push_back(std::static_pointer_cast<Table>(towers.replicas.replica(i).module(
          "table", typeid(Table), [] { return std::make_shared<Table>(); }, true)));
      towers.add_step(i, 1.0 / count);
    }
    const auto counters = [&] {
      std::vector<int64_t> all;
      for (const char* name : {"table/positions", "table/ids"}) {
        const belfry::Variable& variable = *towers.store.find(name);
        all.push_back(variable.value()._version());
        all.push_back(static_cast<int64_t>(variable.version()));
      }
      for (const auto& table : tables) {
        all.push_back(table->positions._version());
        all.push_back(table->ids._version());
      }
      return all;
    };
    towers.replicas.begin_step();
    const auto before = counters();
    for (int step = 1; step <= 3; ++step) {
      towers.replicas.begin_step();
      for (const auto& table : tables) table->hits[1].add_(1);  // through a view
      towers.replicas.prepare(towers.contexts);
      towers.replicas.commit(towers.contexts);
      CHECK(counters() == before);
      CHECK(towers.store.find("table/hits")->value().sum().item<double>() == 4 * step);
    }
    towers.replicas.begin_step();
    tables.back()->hits.fill_(99);  // an evaluation, or a step that is given up
    towers.replicas.roll_back();
    CHECK(counters() == before);
    for (const auto& table : tables) CHECK(table->hits.sum().item<double>() == 12);

    // Written after all, whatever wrote it: the variable's owner, or the forward pass of one tower.
    towers.store.find("table/positions")->assign(torch::full({3, 4}, 2.0));
    towers.store.find("table/positions")->bump_version();
    towers.replicas.begin_step();
    for (const auto& table : tables) CHECK(table->positions.eq(2).all().item<bool>());
    tables.back()->positions.fill_(2.0 + count);
    towers.replicas.commit(towers.contexts);
    for (const auto& table : tables) CHECK(table->positions[2][3].item<float>() == Approx(3));
  }
}

TEST_CASE("running statistics are committed though LibTorch's kernel does not count its writes", "[replica_set]") {
  VariableStore store(1);
  ReplicaSet replicas(store);
  auto norm = std::static_pointer_cast<torch::nn::BatchNorm1dImpl>(replicas.replica(0).module(
      "norm", typeid(torch::nn::BatchNorm1dImpl), [] { return std::make_shared<torch::nn::BatchNorm1dImpl>(1); },
      true));
  const StepContext step(replicas.replica(0), {});
  double expected = 0;
  for (int i = 1; i <= 3; ++i) {
    replicas.begin_step();
    norm->forward(torch::tensor({{1.0f}, {3.0f}}));
    replicas.commit({&step});
    expected = 0.9 * expected + 0.1 * 2;
    CHECK(store.find("norm/running_mean")->value().item<float>() == Approx(expected));
  }
  replicas.begin_step();
  norm->forward(torch::tensor({{100.0f}, {300.0f}}));
  replicas.roll_back();
  CHECK(norm->running_mean.item<float>() == Approx(expected));
}

TEST_CASE("one tower's buffers are committed as they are", "[replica_set]") {
  Towers towers(1);
  towers.add_step(0, 1);
  towers.modules[0]->mean.fill_(0.3);
  towers.modules[0]->count.fill_(17);
  towers.replicas.commit(towers.contexts);
  CHECK(towers.mean() == 0.3f);
  CHECK(towers.store.find("state/count")->value().item<int64_t>() == 17);
  towers.modules[0]->mean.fill_(5);
  towers.replicas.begin_step();  // nothing new to copy back
  CHECK(towers.modules[0]->mean[0].item<float>() == 5);
}

TEST_CASE("an assignment to a buffer wins over what the forward pass made of it", "[replica_set]") {
  for (int count = 1; count <= 2; ++count) {
    Towers towers(count);
    for (int i = 0; i < count; ++i) towers.add_step(i, 1.0 / count);
    towers.modules[0]->mean.fill_(7);
    towers.steps.back()->assign("state/mean", torch::full({2}, 9.0));
    towers.replicas.commit(towers.contexts);
    CHECK(towers.mean() == 9);
    towers.replicas.begin_step();
    for (const auto& module : towers.modules) CHECK(module->mean[0].item<float>() == 9);
  }
}

TEST_CASE("batch norm's buffers average over two towers", "[replica_set]") {
  VariableStore store(1);
  ReplicaSet replicas(store);
  replicas.use(belfry::parse_devices({"cpu:0", "cpu:1"}));
  std::vector<std::unique_ptr<StepContext>> steps;
  for (int i = 0; i < 2; ++i) {
    auto norm = std::static_pointer_cast<torch::nn::BatchNorm1dImpl>(replicas.replica(i).module(
        "norm", typeid(torch::nn::BatchNorm1dImpl), [] { return std::make_shared<torch::nn::BatchNorm1dImpl>(1); },
        true));
    norm->forward(torch::tensor({{0.0f + 10 * i}, {2.0f + 10 * i}}));
    steps.push_back(
        std::make_unique<StepContext>(replicas.replica(i), StepContext::Options{.loss_policy = {.row_weight = 0.5}}));
  }
  replicas.prepare({steps[0].get(), steps[1].get()});
  replicas.commit({steps[0].get(), steps[1].get()});
  CHECK(store.find("norm/running_mean")->value().item<float>() == Approx(0.1 * (1 + 11) / 2));
  CHECK(store.find("norm/num_batches_tracked")->value().item<int64_t>() == 1);
}

TEST_CASE("replicas keep their modules and their device", "[replica_set]") {
  VariableStore store(1);
  ReplicaSet replicas(store);
  CHECK(replicas.replica(0).device_name() == "cpu:0");
  belfry::Replica* first = &replicas.replica(0);
  replicas.use(belfry::parse_devices({"cpu:0", "cpu:1", "cpu:2"}));
  CHECK(&replicas.replica(0) == first);
  CHECK(replicas.size() == 3);
  CHECK(replicas.group().size() == 3);
}

TEST_CASE("a replica goes to the device that is named, until something is asked of it", "[replica_set]") {
  VariableStore store(1);
  ReplicaSet replicas(store);
  belfry::Replica& first = replicas.replica(0);  // as a session asks for it, before its model_fn names devices
  const std::vector<belfry::LogicalDevice> elsewhere{{"meta", c10::Device(c10::kMeta)}};
  replicas.use(elsewhere);
  CHECK(&replicas.replica(0) == &first);
  CHECK(first.device() == c10::Device(c10::kMeta));
  CHECK(first.device_name() == "meta");
  CHECK(store.device() == c10::Device(c10::kMeta));
  replicas.use(belfry::parse_devices({"cpu:0"}));
  const auto zeros = [] { return torch::zeros({2}); };
  first.variable("w", zeros, true);
  CHECK_THROWS_WITH(replicas.use(elsewhere), Contains("cpu") && Contains("meta was asked for"));
}
