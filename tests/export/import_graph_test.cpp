#include "export/internal/import/import_graph.h"

#include <torch/csrc/jit/ir/irparser.h>
#include <torch/torch.h>

#include "export_cases.h"
#include "graph_evaluator.h"
#include "loaded_model.h"
#include "random_features.h"
#include "tests/support/check_fails.h"
#include "tests/testing.h"

using namespace belfry;
using namespace belfry::testing;

namespace {

void compare(const TensorDict& got, const TensorDict& wanted) {
  for (const auto& [name, value] : wanted) {
    const at::Tensor& tensor = got.at(name).tensor();
    REQUIRE(tensor.scalar_type() == value.tensor().scalar_type());
    REQUIRE(tensor.sizes() == value.tensor().sizes());
    CHECK(at::allclose(tensor.to(at::kDouble), value.tensor().to(at::kDouble), 1e-5, 1e-5, /*equal_nan=*/true));
  }
}

void check_import(const ExportCase& one) {
  INFO(one.name);
  const Trace traced = trace(one.request);
  const Graph graph = internal::import_graph(traced);
  INFO(to_string(graph));
  const torch::NoGradGuard no_grad;
  for (const int64_t rows : {3, 1, 2, 7}) {
    INFO(rows << " rows");
    const Features features = random_features(one.request.receiver, rows, 100 + rows);
    compare(evaluate(graph, features), one.request.function(features));
  }
}

void check_imports(const ExportCases& cases) {
  for (const ExportCase& one : cases) {
    INFO(one.name);
    CHECK_NOTHROW(check_import(one));
  }
}

std::string imported_text(const TraceRequest& request) { return to_string(internal::import_graph(trace(request))); }

}  // namespace

TEST_CASE("Element-wise operations mean the same in a graph", "[export][graph]") { check_imports(elementwise_cases()); }
TEST_CASE("Reductions mean the same in a graph", "[export][graph]") { check_imports(reduction_cases()); }
TEST_CASE("Shapes mean the same in a graph", "[export][graph]") { check_imports(shape_cases()); }
TEST_CASE("Indexing means the same in a graph", "[export][graph]") { check_imports(indexing_cases()); }
TEST_CASE("Layers mean the same in a graph", "[export][graph]") { check_imports(layer_cases()); }
TEST_CASE("Recurrent layers mean the same in a graph", "[export][graph]") { check_imports(recurrent_cases()); }
TEST_CASE("Losses mean the same in a graph", "[export][graph]") { check_imports(loss_cases()); }
TEST_CASE("Models mean the same in a graph", "[export][graph]") { check_imports(model_cases()); }
TEST_CASE("Models of free lengths mean the same in a graph", "[export][graph]") { check_imports(length_cases()); }

TEST_CASE("Operations of every dtype mean the same in a graph", "[export][graph]") { check_imports(dtype_cases()); }

TEST_CASE("Groups of a batch without rows are normalized to nothing", "[export][graph]") {
  torch::nn::GroupNorm norm(torch::nn::GroupNormOptions(2, 4));
  const Graph graph = internal::import_graph(trace(request_of_module(norm, {.shape = {-1, 4, 5}})));
  const TensorDict got = evaluate(graph, {{"x", at::zeros({0, 4, 5})}});
  CHECK((got.at("y").tensor().sizes().vec() == std::vector<int64_t>{0, 4, 5}));
}

TEST_CASE("The number of elements is a product of sizes", "[export][graph]") {
  Trace traced = trace(request_of([](const at::Tensor& x) { return x * 2; }));
  traced.graph = std::make_shared<torch::jit::Graph>();
  torch::jit::parseIR(R"IR(
graph(%self, %x : Float(*, 4, 6)):
  %count : int = aten::numel(%x)
  %y : Float(*, 4, 6) = aten::mul(%x, %count)
  %all : (Tensor) = prim::TupleConstruct(%y)
  return (%all))IR",
                      traced.graph.get());
  const Graph graph = internal::import_graph(traced);
  INFO(to_string(graph));
  const TensorDict got = evaluate(graph, {{"x", at::ones({3, 4, 6})}});
  CHECK(got.at("y").tensor().eq(72).all().item<bool>());
}

TEST_CASE("A graph reads as a list of operations with types and places", "[export][graph]") {
  torch::nn::Linear linear(4, 2);
  const auto request = request_of([linear](const at::Tensor& x) mutable { return linear->forward(x).relu(); },
                                  {.shape = {-1, 4}}, named_tensors("net", *linear));
  CHECK(imported_text(request) ==
        "%0 Float[-1, 4] = input(name='x')\n"
        "%1 Float[2] = variable(name='net/bias', value=tensor)\n"
        "%2 Float[2, 4] = variable(name='net/weight', value=tensor)\n"
        "%4 Float[-1, 2] = linear(%0, %2, %1)  # net/bias\n"
        "%5 Float[-1, 2] = relu(%4)  # net/bias\n"
        "return 'y' %5\n");
}

TEST_CASE("What a graph cannot express stands in it with LibTorch's name and the reason", "[export][graph][refusal]") {
  const auto unknown = [](const at::Tensor& x) { return at::erfinv(x.sinh()).cumprod(1); };
  const std::string text = imported_text(request_of(unknown));
  CHECK_THAT(text, Catch::Contains("name='aten::sinh'"));
  CHECK_THAT(text, Catch::Contains("name='aten::erfinv'"));
  CHECK_THAT(text, Catch::Contains("name='aten::cumprod'"));
}

TEST_CASE("What is the same in every call is a constant, but not beside writes", "[export][graph]") {
  const auto grid = [](const at::Tensor& x) { return x + torch::linspace(0, 1, 6).cumprod(0); };
  const std::string text = imported_text(request_of(grid));
  CHECK_THAT(text, !Catch::Contains("unsupported"));
  CHECK_THAT(text, Catch::Contains("Float[6] = constant"));
  const auto after_write = [](const at::Tensor& x) {
    const at::Tensor copy = x.clone();
    copy.select(1, 0).fill_(7);
    return copy + torch::linspace(0, 1, 6).cumprod(0);
  };
  CHECK_THAT(imported_text(request_of(after_write)), Catch::Contains("name='aten::cumprod'"));
}

TEST_CASE("What would drop the axis of the batch from a single row is refused", "[export][graph][refusal]") {
  const auto squeeze = [](const at::Tensor& x) { return x.sum(1, true).squeeze(); };
  CHECK_THAT(imported_text(request_of(squeeze)), Catch::Contains("name another axis"));
}

TEST_CASE("Writes that a graph of values would lose are refused", "[export][graph][refusal]") {
  const auto through_view = [](const at::Tensor& x) {
    const at::Tensor copy = x * 1;
    const at::Tensor flat = copy.view({-1, 24});
    copy.add_(1);
    return flat;
  };
  CHECK_THAT(imported_text(request_of(through_view)), Catch::Contains("under another name"));
  const auto into_part = [](const at::Tensor& x) {
    const at::Tensor copy = x.clone();
    copy.select(1, 0).fill_(7);
    return copy * 2;
  };
  CHECK_THAT(imported_text(request_of(into_part)), Catch::Contains("fill_"));
  const auto by_number = [](const at::Tensor& x) {
    at::Tensor copy = x * 1;
    copy.index_put_({torch::tensor({0})}, 1);
    return copy;
  };
  CHECK_THAT(imported_text(request_of(by_number)), Catch::Contains("other indices than one mask"));
}
