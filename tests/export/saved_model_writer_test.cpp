#include "export/saved_model_writer.h"

#include <google/protobuf/text_format.h>
#include <torch/torch.h>

#include "export_cases.h"
#include "loaded_model.h"
#include "saved_model_nodes.h"
#include "tests/testing.h"
#include "written_saved_model.h"

using namespace belfry;
using namespace belfry::testing;

TEST_CASE("Every case is written with whole nodes", "[export][savedmodel]") {
  for (const ExportCase& one : all_export_cases()) {
    INFO(one.name);
    const SavedModel model = written(one.request);
    const std::string problem = model.problems.empty() ? "" : model.problems[0];
    CHECK(problem.empty());
    if (!problem.empty()) continue;
    const auto meta = decoded(model);
    check_nodes(meta);
    check_signatures(meta);
  }
}

TEST_CASE("A SavedModel has one graph to serve, with its signatures", "[export][savedmodel]") {
  const auto meta = decoded(written(wide_and_deep_request()));
  REQUIRE(meta.meta_info_def().tags_size() == 1);
  CHECK(meta.meta_info_def().tags(0) == "serve");
  CHECK(meta.meta_info_def().stripped_default_attrs());
  CHECK(meta.graph_def().versions().producer() == 1395);
  const auto& signature = meta.signature_def().at(kServingDefault);
  CHECK(signature.method_name() == "tensorflow/serving/predict");
  REQUIRE(signature.inputs_size() == 3);
  REQUIRE(signature.outputs_size() == 2);
  const auto& ids = signature.inputs().at("ids");
  CHECK(ids.name() == "ids:0");
  CHECK(ids.dtype() == proto::DT_INT64);
  REQUIRE(ids.tensor_shape().dim_size() == 1);
  CHECK(ids.tensor_shape().dim(0).size() == -1);
  const auto& logits = signature.outputs().at("logits");
  CHECK(logits.dtype() == proto::DT_FLOAT);
  REQUIRE(logits.tensor_shape().dim_size() == 2);
  CHECK(logits.tensor_shape().dim(0).size() == -1);
  CHECK(logits.tensor_shape().dim(1).size() == 3);
  CHECK(nodes_of(meta).contains("serving_default/logits"));
}

TEST_CASE("Constants leave a SavedModel without a saver, which loaders would look for", "[export][savedmodel]") {
  const SavedModel model = written(wide_and_deep_request());
  proto::SavedModel message;
  REQUIRE(message.ParseFromString(model.bytes));
  CHECK(message.saved_model_schema_version() == 1);
  CHECK(model.variables.empty());
  CHECK_FALSE(message.meta_graphs(0).has_saver_def());
  CHECK(message.meta_graphs(0).graph_def().versions().min_consumer() == 0);
  CHECK(message.meta_graphs(0).collection_def().empty());  // nothing to run before the first request
}

TEST_CASE("The same model gives the same SavedModel", "[export][savedmodel]") {
  const TraceRequest request = attention_request();
  CHECK(written(request).bytes == written(request).bytes);
}

TEST_CASE("What only ONNX expresses is refused", "[export][savedmodel][refusal]") {
  for (const ExportCase& one : onnx_only_cases()) {
    INFO(one.name);
    const SavedModel model = written(one.request);
    CHECK(model.bytes.empty());
    CHECK_FALSE(model.problems.empty());
  }
}

TEST_CASE("Every operation that TensorFlow lacks is told with its places", "[export][savedmodel][refusal]") {
  torch::nn::Sequential net(torch::nn::Linear(6, 6), torch::nn::Linear(6, 6));
  const auto function = [net](const at::Tensor& x) mutable {
    const at::Tensor y = net->children()[0]->as<torch::nn::Linear>()->forward(x).sinh();
    const at::Tensor z = net->children()[1]->as<torch::nn::Linear>()->forward(y).sinh();
    return at::max_pool1d(z, 2, 1, 0, 2).cumprod(2);
  };
  const SavedModel model = written(request_of(function, {.shape = {-1, 4, 6}}, named_tensors("net", *net)));
  CHECK(model.bytes.empty());
  REQUIRE(model.problems.size() == 3);
  CHECK_THAT(model.problems[0], Catch::StartsWith("aten::cumprod: "));
  CHECK_THAT(model.problems[1], Catch::Contains("aten::sinh") && Catch::Contains("2 times") &&
                                    Catch::Contains("'net/0/") && Catch::Contains("'net/1/"));
  CHECK_THAT(model.problems[2], Catch::StartsWith("max_pool: TensorFlow has no dilations"));
}

TEST_CASE("A SavedModel can be text", "[export][savedmodel]") {
  const TraceRequest request = wide_and_deep_request();
  const std::string text = written(request, {.as_text = true}).bytes;
  proto::SavedModel message;
  REQUIRE(google::protobuf::TextFormat::ParseFromString(text, &message));
  CHECK(message.meta_graphs(0).meta_info_def().tags(0) == "serve");
  CHECK(written(request, {.as_text = true}).bytes == text);
}

TEST_CASE("Several graphs share their variables", "[export][savedmodel][E13]") {
  const at::Tensor weight = at::randn({2, 6});
  const auto function = [weight](const at::Tensor& x) { return at::linear(x, weight); };
  const TraceRequest request = request_of(function, {.shape = {-1, 4, 6}}, {{"net/weight", weight}});
  const Trace traced = trace(request);
  const auto graph = [&] { return serving_graph(traced, request.receiver, default_signature(traced)); };
  const SavedModel model = saved_model_bytes({{"eval", graph()}, {"serve", graph()}});
  REQUIRE(model.variables.size() == 1);
  CHECK(model.variables[0].first == "net/weight");
  proto::SavedModel message;
  REQUIRE(message.ParseFromString(model.bytes));
  REQUIRE(message.meta_graphs_size() == 2);
  CHECK(message.meta_graphs(0).meta_info_def().tags(0) == "eval");
  CHECK(message.meta_graphs(1).meta_info_def().tags(0) == "serve");
}
