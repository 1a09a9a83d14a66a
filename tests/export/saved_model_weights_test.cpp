// How weights get into a SavedModel.

#include <torch/torch.h>

#include <algorithm>

#include "export_cases.h"
#include "saved_model_nodes.h"
#include "tests/testing.h"
#include "written_saved_model.h"

using namespace belfry;
using namespace belfry::testing;

TEST_CASE("Weights are constants named after their variables", "[export][savedmodel]") {
  const TraceRequest request = wide_and_deep_request();
  const auto nodes = nodes_of(decoded(written(request)));
  for (const auto& [name, tensor] : request.variables) {
    INFO(name);
    REQUIRE(nodes.contains(name));
    CHECK(nodes.at(name).op() == "Const");
    const auto& value = nodes.at(name).attr().at("value").tensor();
    const at::Tensor whole = tensor.contiguous();
    CHECK(value.tensor_content() == std::string(static_cast<const char*>(whole.const_data_ptr()), whole.nbytes()));
  }
}

TEST_CASE("A weight that is used twice in one layout is written once", "[export][savedmodel]") {
  torch::nn::Conv1d conv(torch::nn::Conv1dOptions(4, 4, 3).padding(1));
  torch::nn::LSTM lstm(torch::nn::LSTMOptions(6, 6).batch_first(true));
  lstm->eval();
  NamedTensors variables = named_tensors("conv", *conv);
  for (const auto& one : named_tensors("lstm", *lstm)) variables.push_back(one);
  const auto function = [=](const at::Tensor& x) mutable {
    const at::Tensor once = std::get<0>(lstm->forward(conv->forward(x)));
    return std::get<0>(lstm->forward(conv->forward(once)));
  };
  const SavedModel model =
      written(request_of(function, {.shape = {-1, 4, 6}}, variables), {.weights = SavedModelWeights::kVariables});
  std::vector<std::string> names;
  for (const auto& [name, tensor] : model.variables) names.push_back(name);
  std::sort(names.begin(), names.end());
  // The two weights of an LSTM are one in TensorFlow, and so are its biases.
  const std::vector<std::string> wanted{"conv/bias", "conv/weight", "lstm/bias_ih_l0", "lstm/weight_ih_l0"};
  CHECK(names == wanted);
}

TEST_CASE("Weights too large for a message become variables, unless constants are asked for", "[export][savedmodel]") {
  const TraceRequest request = wide_and_deep_request();
  const SavedModel model = written(request, {.constant_bytes_limit = 500});
  const auto meta = decoded(model);
  check_nodes(meta);
  const auto nodes = nodes_of(meta);
  CHECK(model.variables.size() == request.variables.size());
  for (const auto& [name, tensor] : model.variables) {
    INFO(name);
    REQUIRE(nodes.contains(name));
    CHECK(nodes.at(name).op() == "VarHandleOp");
    CHECK(nodes.at(name).attr().at("shared_name").s() == name);
  }
  CHECK(nodes.contains(meta.saver_def().restore_op_name()));
  CHECK(meta.saver_def().version() == proto::SaverDef::V2);
  const SavedModel refused = written(request, {.weights = SavedModelWeights::kConstants, .constant_bytes_limit = 100});
  CHECK(refused.bytes.empty());
  REQUIRE(refused.problems.size() == 1);
  CHECK_THAT(refused.problems[0], Catch::Contains("a SavedModel holds 100"));
}

TEST_CASE("Constants beyond the limit that are no weights are refused", "[export][savedmodel][refusal]") {
  const at::Tensor table = at::randn({100, 6});  // no variable
  const auto function = [table](const at::Tensor& x) { return at::linear(x, table); };
  const SavedModel model = written(request_of(function), {.constant_bytes_limit = 1000});
  CHECK(model.bytes.empty());
  CHECK_THAT(model.problems.at(0), Catch::Contains("a SavedModel holds 1000"));
}
