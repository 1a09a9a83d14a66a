#include "distribute/replica.h"

#include <torch/torch.h>

#include <thread>

#include "core/error.h"
#include "distribute/random_scope.h"
#include "tests/distribute/adopted.h"
#include "tests/testing.h"

using belfry::Replica;
using belfry::VariableKind;
using belfry::VariableStore;
using belfry::testing::adopt;
using belfry::testing::kCpu;
using belfry::testing::linear;
using belfry::testing::Made;
using Catch::Contains;

TEST_CASE("a parameter or buffer made in forward is found after the step", "[replica]") {
  VariableStore store(1);
  Replica replica(store, 0, kCpu);
  const auto net = linear(replica, "net");
  replica.begin_step();
  CHECK_NOTHROW(replica.check_after_step());
  net->register_parameter("late", torch::ones({1}));
  CHECK_THROWS_WITH(replica.check_after_step(), Contains("'net'") && Contains("constructor"));
}

TEST_CASE("a member that forward points at another tensor is found after the step", "[replica]") {
  VariableStore store(1);
  Replica replica(store, 0, kCpu);
  const auto net = adopt<Made>(replica, "net", [] {
    return std::make_shared<Made>([](Made& m) { m.first = m.register_buffer("first", torch::zeros({2})); });
  });
  replica.begin_step();
  net->first.mul_(0.9).add_(1);
  CHECK_NOTHROW(replica.check_after_step());
  net->first = net->first * 0.9 + 1;
  CHECK_THROWS_WITH(replica.check_after_step(), Contains("'net/first'") && Contains("in place"));
}

TEST_CASE("requires_grad is read again in every step", "[replica]") {
  VariableStore store(1);
  Replica replica(store, 0, kCpu);
  const auto net = linear(replica, "net");
  CHECK(replica.trainable_leaves().size() == 2);
  net->weight.set_requires_grad(false);
  REQUIRE(replica.trainable_leaves().size() == 1);
  CHECK(replica.trainable_leaves()[0]->variable->name() == "net/bias");
  net->weight.set_requires_grad(true);
  CHECK(replica.trainable_leaves().size() == 2);
}

TEST_CASE("replicas on one device share the variables' memory", "[replica]") {
  VariableStore store(1);
  Replica first(store, 0, kCpu), second(store, 1, belfry::parse_device("cpu:1"));
  const auto a = linear(first, "net");
  const auto b = linear(second, "net");
  CHECK(a->weight.data_ptr() == b->weight.data_ptr());
  CHECK_FALSE(a->weight.is_same(b->weight));
  store.find("net/weight")->assign(torch::ones({2, 3}));
  CHECK(b->weight.sum().item<float>() == 6);
}

TEST_CASE("writing to a leaf is an error that names the variable", "[replica]") {
  VariableStore store(1);
  Replica replica(store, 0, kCpu);
  const auto net = linear(replica, "net");
  replica.begin_step();
  {
    const torch::NoGradGuard no_grad;
    net->weight.add_(1);
  }
  CHECK_THROWS_WITH(replica.check_after_step(), Contains("'net/weight'") && Contains("ctx.assign"));
  replica.begin_step();
  CHECK_NOTHROW(replica.check_after_step());
}

TEST_CASE("a graph from before a commit is LibTorch's own error", "[replica]") {
  VariableStore store(1);
  Replica replica(store, 0, kCpu);
  const auto net = linear(replica, "net");
  const at::Tensor x = torch::ones({1, 3}).requires_grad_();
  const at::Tensor stale = net->forward(x).square().sum();
  store.find("net/weight")->assign(torch::zeros({2, 3}));
  replica.bump_leaves();
  CHECK_THROWS_WITH(stale.backward(), Contains("modified by an inplace operation"));
  replica.begin_step();
  CHECK_NOTHROW(net->forward(x).square().sum().backward());
  CHECK_NOTHROW(replica.check_after_step());
}

TEST_CASE("a restore after adoption reaches parameters and buffers at the next step", "[replica]") {
  VariableStore store(1);
  Replica replica(store, 0, kCpu);
  const auto norm = adopt<torch::nn::BatchNorm1dImpl>(replica, "norm",
                                                      [] { return std::make_shared<torch::nn::BatchNorm1dImpl>(2); });
  store.restore({{"norm/weight", torch::full({2}, 3.0)}, {"norm/running_mean", torch::full({2}, 4.0)}}, "model-1");
  replica.begin_step();
  CHECK(norm->weight[0].item<float>() == 3);
  CHECK(norm->running_mean[0].item<float>() == 4);
}

TEST_CASE("towers that adopt at once get equal modules", "[replica]") {
  VariableStore store(1);
  std::vector<std::unique_ptr<Replica>> replicas;
  for (int i = 0; i < 3; ++i) replicas.push_back(std::make_unique<Replica>(store, i, kCpu));
  std::vector<std::thread> threads;
  for (const auto& replica : replicas) {
    threads.emplace_back([&] {
      for (int k = 0; k < 5; ++k) linear(*replica, "net" + std::to_string(k));
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(store.variables(VariableKind::kParameter).size() == 10);
  for (const auto& replica : replicas) {
    CHECK(linear(*replica, "net3")->weight.data_ptr() == store.find("net3/weight")->value().data_ptr());
  }
}

TEST_CASE("dropout modules in two threads repeat under their seeds", "[replica][random]") {
  const auto run = [](uint64_t seed) {
    const belfry::RandomScope scope(seed);
    torch::nn::Dropout dropout(0.5);
    at::Tensor x = torch::ones({64});
    for (int i = 0; i < 4; ++i) x = x + dropout->forward(torch::ones({64}));
    return x;
  };
  const at::Tensor global = at::globalContext().defaultGenerator(at::kCPU).get_state();
  at::Tensor drawn[2];
  std::thread other([&] { drawn[1] = run(1); });
  drawn[0] = run(0);
  other.join();
  CHECK(torch::equal(drawn[0], run(0)));
  CHECK(torch::equal(drawn[1], run(1)));
  CHECK_FALSE(torch::equal(drawn[0], drawn[1]));
  CHECK(torch::equal(global, at::globalContext().defaultGenerator(at::kCPU).get_state()));
}
