#include <torch/script.h>
#include <torch/torch.h>

#include "export/trace.h"
#include "tests/support/check_fails.h"
#include "tests/testing.h"
#include "traced_models.h"

using namespace belfry;
using namespace belfry::testing;
namespace nn = torch::nn;

namespace {

using Function = std::function<at::Tensor(const at::Tensor&)>;

Trace trace_of(const Function& function) { return trace(request_of(function)); }

}  // namespace

TEST_CASE("Numbers that do not follow the batch in a trace are refused", "[export][refusal]") {
  const ErrorKind kind = ErrorKind::kUnimplemented;
  CHECK_FAILS(trace_of([](const at::Tensor& x) { return x * (1.0 / x.size(0)); }), kind, "1.0 / x.size(0)");
  CHECK_FAILS(trace_of([](const at::Tensor& x) { return x * x.max().item<float>(); }), kind, "item()");
  CHECK_FAILS(trace_of([](const at::Tensor& x) { return x + (x.size(0) > 4 ? 10 : 9); }), kind,
              "9 with 3 rows and 10 with 5");
  CHECK_FAILS(trace_of([](const at::Tensor& x) { return x.any().logical_or(torch::full({}, x.size(0) > 4)); }), kind,
              "aten::full");
  const auto square = [](const at::Tensor& x) {
    const at::Tensor row = x.sum({1, 2});
    return (row.unsqueeze(0) - row.unsqueeze(1)).view({x.size(0) * x.size(0)});
  };
  CHECK_FAILS(trace_of(square), kind, "linear in the rows");
}

TEST_CASE("Tensors made from host data are refused", "[export][refusal]") {
  const auto host_data = [](const at::Tensor& x) {
    return x + torch::tensor(std::vector<float>(x.size(0), 1.0F)).view({-1, 1, 1});
  };
  CHECK_FAILS(trace_of(host_data), ErrorKind::kUnimplemented, "constant tensor [3] with 3 rows is [5]");
}

TEST_CASE("Memory that is filled past the trace is refused with what to use", "[export][refusal]") {
  const auto past_the_trace = [](const at::Tensor& x) { return x * at::tensor({1.0F, 2.0F}).sum(); };
  CHECK_FAILS(trace_of(past_the_trace), ErrorKind::kUnimplemented, "use torch::tensor");
  const auto constant = [](const at::Tensor& x) { return x * torch::tensor({1.0F, 2.0F}).sum(); };
  CHECK_NOTHROW(trace_of(constant));
  const auto filled = [](const at::Tensor& x) { return x * at::empty({2}).fill_(3).sum(); };
  CHECK_NOTHROW(trace_of(filled));
}

TEST_CASE("Branches on data and loops over rows are refused", "[export][refusal]") {
  int calls = 0;
  const auto branch = [&calls](const at::Tensor& x) { return x.sum().item<float>() > 0 && calls++ ? x * 2 : x + 3; };
  const auto by_rows = [](const at::Tensor& x) { return x.size(0) > 4 ? x.exp() : x.log(); };
  const auto loop = [](const at::Tensor& x) {
    std::vector<at::Tensor> rows;
    for (const at::Tensor& row : x.unbind(0)) rows.push_back(row * 2);
    return torch::stack(rows);
  };
  CHECK_FAILS(trace_of(branch), ErrorKind::kUnimplemented, "export: the model cannot be traced");
  CHECK_FAILS(trace_of(by_rows), ErrorKind::kUnimplemented, "runs aten::log and with 5 rows of other data aten::exp");
  CHECK_FAILS(trace_of(loop), ErrorKind::kUnimplemented, "the loop is unrolled");
}

TEST_CASE("Control flow of a script that goes by data is refused", "[export][refusal]") {
  const auto scripts = torch::jit::compile(R"(
def branch(x):
    if bool(x.sum() > 0):
        x = x * 2
    return x

def loop(x):
    while bool(x.max() < 100):
        x = x * 2 + 1
    return x
)");
  for (const char* name : {"branch", "loop"}) {
    INFO(name);
    const auto run = [&](const at::Tensor& x) { return scripts->run_method(name, x).toTensor(); };
    CHECK_FAILS(trace_of(run), ErrorKind::kUnimplemented, "export: the model cannot be traced");
  }
}

TEST_CASE("A number baked at equal values in both traces is found by replay", "[export][refusal]") {
  const auto only_at_seven = [](const at::Tensor& x) { return x * (x.size(0) == 7 ? 2 : 1); };
  CHECK_FAILS(trace_of(only_at_seven), ErrorKind::kUnimplemented, "with 7 rows of new data output 'y'");
  const auto sign = [](const at::Tensor& x) { return x.size(0) == 11 ? x.sum(2) : x; };
  CHECK_FAILS(trace_of(sign), ErrorKind::kUnimplemented, "is [11, 4, 6] where the model's is [11, 4]");
}

TEST_CASE("A refusal names the variable nearest to the operation", "[export][refusal]") {
  nn::Sequential net(nn::Linear(4, 4), nn::Linear(4, 4));
  const auto function = [net](const at::Tensor& x) mutable { return net->forward(x) * (1.0 / x.size(0)); };
  CHECK_FAILS(trace(request_of(function, {.shape = {-1, 4}}, named_tensors("net", *net))), ErrorKind::kUnimplemented,
              "aten::mul, near variable 'net/1/");
}

TEST_CASE("Training mode and random numbers are refused", "[export][refusal]") {
  const auto traced = [](auto module) {
    auto request = request_of_module(module, {.shape = {-1, 4}});
    module->train();
    return trace(request);
  };
  const ErrorKind kind = ErrorKind::kFailedPrecondition;
  CHECK_FAILS(traced(nn::Sequential(nn::Linear(4, 4), nn::Dropout(0.5))), kind, "call eval()): aten::dropout");
  CHECK_FAILS(traced(nn::Sequential(nn::Linear(4, 4), nn::BatchNorm1d(4))), kind,
              "aten::batch_norm, near variable 'net/1/");
  CHECK_FAILS(trace_of([](const at::Tensor& x) { return x + torch::rand_like(x); }), kind, "random numbers");
  CHECK_FAILS(trace_of([](const at::Tensor& x) { return torch::bernoulli(x.sigmoid()); }), kind, "aten::bernoulli");
  CHECK_FAILS(trace_of([](const at::Tensor& x) { return torch::empty_like(x).normal_(); }), kind, "aten::normal_");
}

TEST_CASE("Batch norm without running statistics has no training mode", "[export][refusal]") {
  nn::BatchNorm1d norm(nn::BatchNorm1dOptions(4).track_running_stats(false));
  const auto request = request_of_module(norm, {.shape = {-1, 4, 6}});
  CHECK(trace(request).outputs[0].shape == std::vector<int64_t>{-1, 4, 6});
}

TEST_CASE("Writes to features and variables are refused", "[export][refusal]") {
  CHECK_FAILS(trace_of([](const at::Tensor& x) { return x.add_(1); }), ErrorKind::kFailedPrecondition, "feature 'x'");
  const at::Tensor counter = torch::zeros({});
  const auto counts = [counter](const at::Tensor& x) { return x + counter.add_(1); };
  CHECK_FAILS(trace(request_of(counts, {.shape = {-1, 4}}, {{"counter", counter}})), ErrorKind::kFailedPrecondition,
              "variable 'counter'");
}

TEST_CASE("Requests that make no sense are refused", "[export][refusal]") {
  const ErrorKind kind = ErrorKind::kInvalidArgument;
  const Function twice = [](const at::Tensor& x) { return x * 2; };
  const at::Tensor weight = torch::zeros({2});
  CHECK_FAILS(trace(request_of(twice, {.shape = {-1}}, {{"w", weight}, {"w", weight}})), ErrorKind::kAlreadyExists,
              "'w' comes twice");
  CHECK_FAILS(trace(request_of(twice, {.shape = {-1}}, {{"w", at::Tensor()}})), kind, "'w' is an undefined tensor");
  CHECK_FAILS(trace(request_of(twice, {.shape = {-1}}, {{"w", torch::zeros({2}, torch::kMeta)}})), kind,
              "'w' is on meta");
  CHECK_FAILS(trace(TraceRequest{{}, ServingInputReceiver(TensorSpec{}), {}}), kind, "no function");
  const auto outputs = [](TensorDict dict) {
    return trace({[dict](const Features&) { return dict; }, ServingInputReceiver(TensorSpec{}), {}});
  };
  CHECK_FAILS(outputs({}), kind, "no outputs");
  CHECK_FAILS(outputs({{"s", StringTensor{"a"}}}), kind, "output 's'");
  CHECK_FAILS(outputs({{"sparse", torch::eye(2).to_sparse()}}), kind, "'sparse' is Sparse");
}

TEST_CASE("A model's own error reaches the caller and another trace works", "[export][refusal]") {
  CHECK_THROWS_AS(trace_of([](const at::Tensor&) -> at::Tensor { throw std::domain_error("mine"); }),
                  std::domain_error);
  CHECK_THROWS_AS(trace_of([](const at::Tensor& x) { return x.view({-1, 7}); }), c10::Error);
  CHECK(trace_of([](const at::Tensor& x) { return x * 2; }).outputs.size() == 1);
}
