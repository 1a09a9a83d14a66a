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

namespace {

std::vector<std::string> names_of(const std::vector<belfry::Variable*>& variables) {
  std::vector<std::string> names;
  for (const auto* variable : variables) names.push_back(variable->name());
  return names;
}

void refuses(const std::function<void(Made&)>& construct, const std::string& name, const std::string& advice) {
  VariableStore store(1);
  Replica replica(store, 0, kCpu);
  const auto make = [&] { return std::make_shared<Made>(construct); };
  for (int time = 0; time < 2; ++time) {  // it is refused alike the second time
    CHECK_THROWS_WITH(adopt<Made>(replica, "net", make), Contains("'" + name + "'") && Contains(advice));
  }
  CHECK(replica.trainable_leaves().empty());
  CHECK(replica.buffers().empty());
  CHECK_NOTHROW(linear(replica, "other"));
}

}  // namespace

TEST_CASE("a module's parameters and buffers become variables under its name", "[replica]") {
  VariableStore store(1);
  Replica replica(store, 0, kCpu);
  struct Net : torch::nn::Module {
    Net() {
      fc = register_module("fc", torch::nn::Linear(3, 2));
      norm = register_module("norm", torch::nn::BatchNorm1d(2));
      scale = register_parameter("scale", torch::ones({1}));
    }
    torch::nn::Linear fc{nullptr};
    torch::nn::BatchNorm1d norm{nullptr};
    at::Tensor scale;
  };
  const auto net = adopt<Net>(replica, "net", [] { return std::make_shared<Net>(); });
  CHECK(names_of(store.variables(VariableKind::kParameter)) ==
        std::vector<std::string>{"net/fc/bias", "net/fc/weight", "net/norm/bias", "net/norm/weight", "net/scale"});
  CHECK(names_of(store.variables(VariableKind::kBuffer)) ==
        std::vector<std::string>{"net/norm/num_batches_tracked", "net/norm/running_mean", "net/norm/running_var"});
  CHECK(replica.trainable_leaves().size() == 5);
  CHECK(net->fc->weight.data_ptr() == store.find("net/fc/weight")->value().data_ptr());
  CHECK(replica.find_leaf(net->scale)->variable == store.find("net/scale"));
  CHECK(replica.find_leaf(*store.find("net/scale"))->tensor.is_same(net->scale));
  CHECK(replica.find_leaf(torch::ones({1})) == nullptr);
  CHECK(replica.named_tensors().size() == 8);
}

TEST_CASE("a module is made once, and put into the mode that is asked for", "[replica]") {
  VariableStore store(1);
  Replica replica(store, 0, kCpu);
  int made = 0;
  const auto make = [&] {
    ++made;
    return std::make_shared<torch::nn::DropoutImpl>(0.5);
  };
  const auto dropout = adopt<torch::nn::DropoutImpl>(replica, "drop", make, false);
  CHECK_FALSE(dropout->is_training());
  CHECK(adopt<torch::nn::DropoutImpl>(replica, "drop", make, true) == dropout);
  CHECK(dropout->is_training());
  CHECK(made == 1);
}

TEST_CASE("another type under a name is an error, and so is an illegal name or no module", "[replica]") {
  VariableStore store(1);
  Replica replica(store, 0, kCpu);
  linear(replica, "net");
  CHECK_THROWS_WITH(
      adopt<torch::nn::DropoutImpl>(replica, "net", [] { return std::make_shared<torch::nn::DropoutImpl>(); }),
      Contains("'net'") && Contains("another type"));
  CHECK_THROWS_WITH(linear(replica, "my net"), Contains("'my net'"));
  CHECK_THROWS_WITH(adopt<torch::nn::DropoutImpl>(replica, "none", [] { return nullptr; }), Contains("'none'"));
}

TEST_CASE("a submodule or tensor registered twice is one variable with aliases", "[replica]") {
  VariableStore store(1);
  Replica replica(store, 0, kCpu);
  const auto net = adopt<Made>(replica, "net", [] {
    return std::make_shared<Made>([](Made& m) {
      m.a = m.register_module("a", torch::nn::Linear(3, 3));
      m.b = m.register_module("b", m.a);
      m.first = m.register_parameter("first", torch::ones({2}));
      m.second = m.register_parameter("second", m.first);
    });
  });
  CHECK(names_of(store.variables(VariableKind::kParameter)) ==
        std::vector<std::string>{"net/a/bias", "net/a/weight", "net/first"});
  CHECK(replica.trainable_leaves().size() == 3);
  CHECK(net->second.data_ptr() == store.find("net/first")->value().data_ptr());
}

TEST_CASE("what could not be shared faithfully is refused with advice", "[replica]") {
  SECTION("a view cached in the constructor") {
    refuses(
        [](Made& m) {
          m.first = m.register_parameter("first", torch::ones({4, 4}));
          m.second = m.first.t();
        },
        "net/first", "take views of parameters in forward()");
  }
  SECTION("a detached view as a buffer, after a parameter that is fine") {
    refuses(
        [](Made& m) {
          m.a = m.register_module("a", torch::nn::Linear(3, 3));
          m.b = m.register_module("b", torch::nn::Linear(3, 3));
          m.second = m.b->register_buffer("copy", m.b->weight.detach());
        },
        "net/b/weight", "shares its memory");
  }
  SECTION("a parameter that is a view") {
    refuses(
        [](Made& m) {
          m.first = m.register_parameter("first", torch::ones({4, 4}).select(0, 1));
        },
        "net/first", "view");
  }
  SECTION("a parameter tied by member only") {
    refuses(
        [](Made& m) {
          m.a = m.register_module("a", torch::nn::Linear(3, 3));
          m.b = m.register_module("b", torch::nn::Linear(3, 3));
          m.b->weight = m.a->weight;
        },
        "net/b/weight", "To tie two parameters");
  }
  SECTION("a sparse parameter") {
    refuses([](Made& m) { m.first = m.register_parameter("first", torch::eye(3).to_sparse()); }, "net/first",
            "not a dense tensor");
  }
  SECTION("a name that TensorFlow does not take") {
    refuses([](Made& m) { m.first = m.register_parameter("my weight", torch::ones({3})); }, "net/my weight", "name");
  }
}

TEST_CASE("a restored value of another shape is refused, and the name stays free", "[replica]") {
  VariableStore store(1);
  store.restore({{"net/bias", torch::zeros({5})}}, "model-3");
  Replica replica(store, 0, kCpu);
  CHECK_THROWS_WITH(linear(replica, "net"), Contains("'net/bias'") && Contains("[5]") && Contains("[2]"));
  CHECK(replica.trainable_leaves().empty());
  store.restore({{"global_step", torch::zeros({}, torch::kLong)}}, "another checkpoint");
  CHECK_NOTHROW(linear(replica, "net"));
}

TEST_CASE("two towers' modules of different sizes under one name are refused", "[replica]") {
  VariableStore store(1);
  Replica first(store, 0, kCpu), second(store, 1, belfry::parse_device("cpu:1"));
  linear(first, "net", 3);
  CHECK_THROWS_WITH(linear(second, "net", 4), Contains("'net/weight'") && Contains("[2, 3]") && Contains("[2, 4]"));
}

TEST_CASE("two modules may not claim one variable or one buffer", "[replica]") {
  VariableStore store(1);
  Replica replica(store, 0, kCpu);
  const auto parent = [](const std::string& member) {
    return std::make_shared<Made>([&](Made& m) { m.register_module(member, torch::nn::BatchNorm1d(2)); });
  };
  const auto without_parameters = [] {
    return std::make_shared<torch::nn::BatchNorm1dImpl>(torch::nn::BatchNorm1dOptions(2).affine(false));
  };
  adopt<Made>(replica, "net", [&] { return parent("norm"); });
  CHECK_THROWS_WITH(adopt<torch::nn::BatchNorm1dImpl>(replica, "net/norm", without_parameters),
                    Contains("two modules"));
  CHECK_THROWS_WITH(linear(replica, "net/norm"), Contains("'net/norm/weight'"));
}

TEST_CASE("a module made under InferenceMode or NoGrad can be trained", "[replica]") {
  VariableStore store(1);
  Replica replica(store, 0, kCpu);
  std::shared_ptr<torch::nn::LinearImpl> net, other;
  at::Tensor scale;
  {
    const c10::InferenceMode inference;
    net = linear(replica, "net");
    scale = replica.variable(
        "scale", [] { return torch::ones({2}); }, true);
    adopt<torch::nn::BatchNorm1dImpl>(replica, "norm", [] { return std::make_shared<torch::nn::BatchNorm1dImpl>(2); });
    CHECK(net->forward(torch::ones({1, 3})).is_inference());
  }
  {
    const torch::NoGradGuard no_grad;
    other = linear(replica, "other");
  }
  CHECK(replica.trainable_leaves().size() == 7);
  (other->forward(torch::ones({1, 3})) * net->forward(torch::ones({1, 3})) * scale).sum().backward();
  CHECK(net->weight.grad().abs().sum().item<float>() > 0);
  CHECK(other->weight.grad().abs().sum().item<float>() > 0);
  for (const Replica::Buffer& buffer : replica.buffers()) CHECK_FALSE(buffer.tensor.is_inference());
  CHECK_NOTHROW(replica.check_after_step());
}

TEST_CASE("initial values depend on the store's seed and the name alone", "[replica]") {
  const auto weights = [](uint64_t seed, const std::vector<std::string>& order, int tower, bool in_thread) {
    VariableStore store(seed);
    Replica replica(store, tower, kCpu);
    const auto make = [&] {
      const belfry::RandomScope step(order.size() + static_cast<size_t>(tower));
      for (const std::string& name : order) linear(replica, name);
      replica.variable(
          "free", [] { return torch::randn({4}); }, true);
    };
    if (in_thread) {
      std::thread(make).join();
    } else {
      make();
    }
    return store.snapshot();
  };
  torch::manual_seed(3);
  const at::Tensor global = at::globalContext().defaultGenerator(at::kCPU).get_state();
  const auto plain = weights(5, {"a", "b"}, 0, false);
  CHECK(torch::equal(global, at::globalContext().defaultGenerator(at::kCPU).get_state()));
  torch::manual_seed(4);
  const auto shuffled = weights(5, {"c", "b", "a"}, 2, true);
  for (const char* name : {"a/weight", "a/bias", "b/weight", "free"}) CHECK(torch::equal(plain[name], shuffled[name]));
  CHECK_FALSE(torch::equal(plain["a/weight"], plain["b/weight"]));
  CHECK_FALSE(torch::equal(plain["a/weight"], weights(6, {"a"}, 0, false)["a/weight"]));
}

TEST_CASE("convolution and batch norm in channels_last keep their layout", "[replica]") {
  VariableStore store(1);
  Replica first(store, 0, kCpu), second(store, 1, kCpu);
  const auto make = [] {
    auto conv = std::make_shared<torch::nn::Conv2dImpl>(torch::nn::Conv2dOptions(3, 4, 3));
    const torch::NoGradGuard no_grad;
    conv->weight.set_data(conv->weight.contiguous(at::MemoryFormat::ChannelsLast));
    return conv;
  };
  const auto a = adopt<torch::nn::Conv2dImpl>(first, "conv", make);
  const auto b = adopt<torch::nn::Conv2dImpl>(second, "conv", make);
  CHECK(store.find("conv/weight")->value().is_contiguous(at::MemoryFormat::ChannelsLast));
  CHECK(b->weight.is_contiguous(at::MemoryFormat::ChannelsLast));
  const at::Tensor image = torch::ones({1, 3, 5, 5});
  CHECK(torch::equal(a->forward(image), b->forward(image)));
}

TEST_CASE("an LSTM computes with the store's weights", "[replica]") {
  VariableStore store(1);
  Replica replica(store, 0, kCpu);
  const auto lstm = adopt<torch::nn::LSTMImpl>(replica, "lstm", [] {
    return std::make_shared<torch::nn::LSTMImpl>(torch::nn::LSTMOptions(3, 4).num_layers(2));
  });
  CHECK(store.find("lstm/weight_ih_l0") != nullptr);
  CHECK(replica.trainable_leaves().size() == 8);
  const at::Tensor x = torch::ones({5, 1, 3});
  const at::Tensor before = std::get<0>(lstm->forward(x));
  for (belfry::Variable* variable : store.variables(VariableKind::kParameter)) {
    variable->assign(torch::zeros_like(variable->value()));
  }
  replica.bump_leaves();
  CHECK(before.abs().sum().item<float>() > 0);
  const at::Tensor after = std::get<0>(lstm->forward(x));
  CHECK(after.abs().sum().item<float>() == 0);
  after.sum().backward();
  CHECK(lstm->all_weights()[0].grad().defined());
}

TEST_CASE("dictionaries, lists and sequences of modules and parameters are adopted", "[replica]") {
  VariableStore store(1);
  Replica replica(store, 0, kCpu);
  struct Net : torch::nn::Module {
    Net() {
      dict = register_module("dict", torch::nn::ParameterDict());
      dict->insert("left", torch::ones({2}));
      list = register_module("list", torch::nn::ParameterList());
      list->append(torch::ones({3}));
      layers = register_module("layers", torch::nn::Sequential(torch::nn::Linear(2, 2), torch::nn::Linear(2, 2)));
      embedding = register_module("embedding", torch::nn::Embedding(4, 2));
    }
    torch::nn::ParameterDict dict{nullptr};
    torch::nn::ParameterList list{nullptr};
    torch::nn::Sequential layers{nullptr};
    torch::nn::Embedding embedding{nullptr};
  };
  const auto net = adopt<Net>(replica, "net", [] { return std::make_shared<Net>(); });
  const auto names = names_of(store.variables(VariableKind::kParameter));
  CHECK(names == std::vector<std::string>{"net/dict/left", "net/embedding/weight", "net/layers/0/bias",
                                          "net/layers/0/weight", "net/layers/1/bias", "net/layers/1/weight",
                                          "net/list/0"});
  CHECK(net->dict["left"].data_ptr() == store.find("net/dict/left")->value().data_ptr());
}

TEST_CASE("a variable without a module is a leaf of each replica", "[replica]") {
  VariableStore store(1);
  Replica first(store, 0, kCpu), second(store, 1, kCpu);
  int made = 0;
  const auto initial = [&] { return ++made, torch::full({2}, 3.0); };
  const at::Tensor w = first.variable("w", initial, true);
  CHECK(first.variable("w", initial, true).is_same(w));
  CHECK(second.variable("w", initial, true).data_ptr() == w.data_ptr());
  CHECK(made == 1);
  CHECK(w.requires_grad());
  CHECK(w.is_leaf());
  CHECK_FALSE(first
                  .variable(
                      "counter", [] { return torch::zeros({}, torch::kLong); }, false)
                  .requires_grad());
  CHECK(store.find("counter")->kind() == VariableKind::kState);
  CHECK(first.trainable_leaves().size() == 1);
  CHECK_THROWS_WITH(first.variable("w", initial, false), Contains("'w'") && Contains("trainable"));
  CHECK_THROWS_WITH(second.variable("counter", initial, true), Contains("'counter'"));
  CHECK_THROWS_WITH(first.variable("a b", initial, true), Contains("'a b'"));
}
