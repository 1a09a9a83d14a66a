#include "export/trace.h"

#include <torch/script.h>
#include <torch/torch.h>

#include "loaded_model.h"
#include "tests/support/check_fails.h"
#include "tests/testing.h"
#include "traced_models.h"

using namespace belfry;
using namespace belfry::testing;
namespace nn = torch::nn;

TEST_CASE("Feed-forward networks hold for any number of rows", "[export][trace]") {
  check_round_trip(request_of_module(
      nn::Sequential(nn::Linear(4, 16), nn::ReLU(), nn::Dropout(0.5), nn::Linear(16, 3), nn::LogSoftmax(1)),
      {.shape = {-1, 4}}));
  check_round_trip(request_of_module(
      nn::Sequential(nn::Linear(4, 8), nn::BatchNorm1d(8), nn::GELU(), nn::LayerNorm(nn::LayerNormOptions({8}))),
      {.shape = {-1, 4}}));
}

TEST_CASE("Convolutional networks hold for any number of rows", "[export][trace]") {
  check_round_trip(request_of_module(
      nn::Sequential(nn::Conv2d(nn::Conv2dOptions(1, 4, 3).padding(1)), nn::BatchNorm2d(4), nn::ReLU(),
                     nn::MaxPool2d(2), nn::Flatten(), nn::Linear(64, 3), nn::Dropout(0.5)),
      {.shape = {-1, 1, 8, 8}}));
}

TEST_CASE("Recurrent networks, whose first states have the batch's size, hold for any number of rows",
          "[export][trace]") {
  nn::LSTM lstm(nn::LSTMOptions(6, 5).batch_first(true).num_layers(2).bidirectional(true).dropout(0.3));
  lstm->eval();
  check_round_trip(request_of([lstm](const at::Tensor& x) mutable { return std::get<0>(lstm->forward(x)); },
                              {.shape = {-1, 4, 6}}, named_tensors("lstm", *lstm)));
  nn::GRU gru(nn::GRUOptions(6, 5).batch_first(true));
  gru->eval();
  check_round_trip(request_of([gru](const at::Tensor& x) mutable { return std::get<1>(gru->forward(x)).squeeze(0); },
                              {.shape = {-1, 4, 6}}, named_tensors("gru", *gru)));
  nn::LSTMCell cell(nn::LSTMCellOptions(6, 5));
  const auto two_steps = [cell](const at::Tensor& x) mutable {
    const auto state = cell->forward(x.select(1, 0));
    return std::get<0>(cell->forward(x.select(1, 1), state));
  };
  check_round_trip(request_of(two_steps, {.shape = {-1, 4, 6}}, named_tensors("cell", *cell)));
}

TEST_CASE("Attention holds for any number of rows", "[export][trace]") { check_round_trip(attention_request()); }

TEST_CASE("Integer inputs are traced with ids of their range", "[export][trace]") {
  const TensorSpec ids{.dtype = at::kLong, .shape = {-1, 3}, .low = 2, .high = 10};
  check_round_trip(request_of_module(nn::Embedding(10, 4), ids));
  check_round_trip(request_of_module(nn::EmbeddingBag(nn::EmbeddingBagOptions(10, 4).mode(torch::kSum)), ids));
  check_round_trip(request_of([](const at::Tensor& x) { return torch::one_hot(x, 10).to(torch::kDouble); }, ids));
}

TEST_CASE("Several inputs and outputs keep their order", "[export][trace]") {
  const TraceRequest request = wide_and_deep_request();
  check_round_trip(request);
  const Trace traced = trace(request);
  REQUIRE(traced.outputs.size() == 2);
  CHECK(traced.outputs[0].name == "logits");
  CHECK(traced.outputs[1].name == "probabilities");
  CHECK(traced.outputs[1].shape == std::vector<int64_t>{-1, 3});
  CHECK(traced.outputs[1].dtype == at::kFloat);
  CHECK(traced.warnings.empty());
}

TEST_CASE("Sizes that the model computes from the batch follow it", "[export][trace]") {
  check_round_trip(request_of([](const at::Tensor& x) { return x.view({x.size(0), -1}) * 2; }));
  check_round_trip(request_of([](const at::Tensor& x) {
    return x.reshape({x.size(0) * x.size(1), x.size(2)}).view({x.size(0), x.size(1), x.size(2)});
  }));
  check_round_trip(request_of([](const at::Tensor& x) {
    return torch::cat({x, torch::zeros({x.size(0), 1, 6})}, 1) + torch::arange(x.size(0)).view({-1, 1, 1});
  }));
  check_round_trip(request_of([](const at::Tensor& x) { return x / x.size(0) + (2 * x.size(0) - 3); }));
  check_round_trip(request_of([](const at::Tensor& x) { return x.new_full({x.size(0)}, 3.0); }));
}

TEST_CASE("A size that equals a traced row count by chance stays", "[export][trace]") {
  check_round_trip(request_of([](const at::Tensor& x) { return x.view({-1, 3, 5}) * 3; }, {.shape = {-1, 15}}));
}

TEST_CASE("Writes into tensors of the model's own are kept or made functional", "[export][trace]") {
  const TraceRequest fresh = request_of([](const at::Tensor& x) { return (x * 1).add_(1).relu_(); });
  CHECK(trace(fresh).remaining_writes.empty());
  check_round_trip(fresh);
  const TraceRequest view = request_of([](const at::Tensor& x) {
    const at::Tensor copy = x.clone();
    copy.select(1, 0).fill_(7);
    return copy * 2;
  });
  const auto writes = trace(view).remaining_writes;
  REQUIRE(writes.size() == 1);
  CHECK_THAT(writes[0], Catch::StartsWith("aten::fill_"));
  check_round_trip(view);
  check_round_trip(request_of([](const at::Tensor& x) {
    const at::Tensor copy = x * 1;
    const at::Tensor flat = copy.view({-1, 24});
    copy.add_(1);
    return flat;
  }));
}

namespace {

// A gradient of its own, as users write for what autograd cannot derive well.
struct ClippedIdentity : torch::autograd::Function<ClippedIdentity> {
  static at::Tensor forward(torch::autograd::AutogradContext*, const at::Tensor& x) { return x.clamp(-1, 1) * 3; }
  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext*, torch::autograd::tensor_list g) {
    return g;
  }
};

}  // namespace

TEST_CASE("A function with a gradient of its own is traced through what it computes", "[export][trace]") {
  check_round_trip(request_of([](const at::Tensor& x) { return ClippedIdentity::apply(x) + x; }));
}

TEST_CASE("A script inside of the model is traced through what it runs", "[export][trace]") {
  const auto script = torch::jit::compile(R"(
def tower(x):
    for i in range(3):
        x = torch.relu(x * 2 - i)
        if i == 1:
            x = x + x.size(0)
    return x.view(x.size(0), -1)
)");
  check_round_trip(request_of([script](const at::Tensor& x) { return script->run_method("tower", x).toTensor(); },
                              {.shape = {-1, 4, 6}}));
}

TEST_CASE("A decision by a feature's values is told of, even where all tries decide alike", "[export][trace]") {
  const at::Tensor weight = at::ones({6});
  const auto warnings = [&](const auto& function) {
    return trace(request_of(function, {.shape = {-1, 4, 6}}, {{"weight", weight}})).warnings;
  };
  const auto by_item = [](const at::Tensor& x) { return x.max().item<double>() > -100 ? x * 2 : x; };
  const auto by_bool = [](const at::Tensor& x) { return (x + 1).ge(-100).all().item<bool>() ? x * 2 : x; };
  const auto by_weight = [&](const at::Tensor& x) { return (weight * 2).max().item<double>() > 1 ? x * 2 : x; };
  REQUIRE(warnings(by_item).size() == 1);
  CHECK_THAT(warnings(by_item)[0], Catch::Contains("aten::max") && Catch::Contains("decided for good"));
  REQUIRE(warnings(by_bool).size() == 1);
  CHECK_THAT(warnings(by_bool)[0], Catch::Contains("aten::all"));
  CHECK(warnings(by_weight).empty());
  CHECK(warnings([](const at::Tensor& x) { return x.softmax(2); }).empty());
}

TEST_CASE("Outputs without a batch are kept with a warning", "[export][trace]") {
  const auto function = [](const Features& features) -> TensorDict {
    const at::Tensor& x = features["x"];
    return {{"rows", x * 2}, {"mean", x.mean()}, {"columns", x.sum(0)}, {"flat", x.reshape({-1})}};
  };
  const TraceRequest request{function, ServingInputReceiver(Specs{{"x", {.shape = {-1, 4}}}}), {}};
  const Trace traced = trace(request);
  CHECK(traced.outputs[1].shape.empty());
  CHECK(traced.outputs[2].shape == std::vector<int64_t>{4});
  CHECK(traced.outputs[3].shape == std::vector<int64_t>{-1});
  REQUIRE(traced.warnings.size() == 3);
  CHECK_THAT(traced.warnings[0], Catch::Contains("'mean'"));
  CHECK_THAT(traced.warnings[1], Catch::Contains("'columns' of shape [4]"));
  CHECK_THAT(traced.warnings[2], Catch::Contains("'flat'"));
  check_round_trip(request);
}

TEST_CASE("Outputs may be inputs, variables or constants as they are", "[export][trace]") {
  const at::Tensor weight = torch::randn({3, 2}, torch::requires_grad());
  const at::Tensor constant = torch::arange(4);
  const auto function = [=](const Features& features) -> TensorDict {
    return {{"input", features["x"]}, {"weight", weight}, {"constant", constant}};
  };
  check_round_trip({function, ServingInputReceiver(Specs{{"x", {.shape = {-1, 4}}}}), {{"w", weight}}});
}

TEST_CASE("A trace has the variables that the function reads and no others", "[export][trace]") {
  nn::Linear linear(4, 2);
  NamedTensors variables{{"global_step", torch::zeros({}, torch::kLong)}};
  for (const auto& variable : named_tensors("net", *linear)) variables.push_back(variable);
  variables.emplace_back("net/weight/Adagrad", torch::zeros({2, 4}));
  const Trace traced = trace(
      request_of([linear](const at::Tensor& x) mutable { return linear->forward(x); }, {.shape = {-1, 4}}, variables));
  REQUIRE(traced.variables.size() == 2);
  CHECK(traced.variables[0].first == "net/weight");
  CHECK(traced.variables[0].second.is_same(linear->weight));
  CHECK(traced.variables[1].first == "net/bias");
}

TEST_CASE("A trace keeps dtypes and the sizes that do not follow the batch", "[export][trace]") {
  const Trace traced = trace(request_of([](const at::Tensor& x) { return x.to(torch::kDouble).sum(2); }));
  const auto type = traced.graph->outputs()[0]->node()->inputs()[0]->type()->expect<c10::TensorType>();
  CHECK(type->scalarType() == at::kDouble);
  REQUIRE(type->sizes().size() == 2U);
  CHECK_FALSE(type->sizes()[0].has_value());
  CHECK(type->sizes()[1] == 4);
}

TEST_CASE("Tracing draws no number from the process's generator and leaves gradients on", "[export][trace]") {
  torch::manual_seed(7);
  const at::Tensor expected = torch::rand({4});
  torch::manual_seed(7);
  trace(request_of([](const at::Tensor& x) { return x * 2; }));
  CHECK(torch::equal(torch::rand({4}), expected));
  CHECK(torch::GradMode::is_enabled());
}
