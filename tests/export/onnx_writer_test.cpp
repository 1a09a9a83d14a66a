#include "export/onnx_writer.h"

#include <torch/torch.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "belfry/core/onnx.pb.h"
#include "export/graph/graph_builder.h"
#include "export/internal/import/import_graph.h"
#include "export_cases.h"
#include "loaded_model.h"
#include "tests/support/check_fails.h"
#include "tests/testing.h"

using namespace belfry;
using namespace belfry::testing;
using Json = nlohmann::json;
using proto::onnx::AttributeProto;
using proto::onnx::GraphProto;
using proto::onnx::ModelProto;
using proto::onnx::TensorProto;

namespace {

OnnxModel written(const TraceRequest& request, const OnnxOptions& options = {}) {
  const Trace traced = trace(request);
  return onnx_bytes(internal::import_graph(traced), default_signature(traced), options);
}

ModelProto decoded(const OnnxModel& model) {
  INFO((model.problems.empty() ? "" : model.problems[0]));
  REQUIRE(model.problems.empty());
  ModelProto message;
  REQUIRE(message.ParseFromString(model.bytes));
  return message;
}

// Attributes that have no default.
const std::map<std::string, std::vector<std::string>>& required_attributes() {
  static const std::map<std::string, std::vector<std::string>> required{{"AveragePool", {"kernel_shape"}},
                                                                        {"Cast", {"to"}},
                                                                        {"Concat", {"axis"}},
                                                                        {"Einsum", {"equation"}},
                                                                        {"GRU", {"hidden_size", "linear_before_reset"}},
                                                                        {"LSTM", {"hidden_size"}},
                                                                        {"MaxPool", {"kernel_shape"}},
                                                                        {"RNN", {"hidden_size"}},
                                                                        {"Transpose", {"perm"}}};
  return required;
}

// Opset 17 has them as inputs.
const std::set<std::string>& axes_by_input() {
  static const std::set<std::string> names{"ReduceSum", "Squeeze", "Unsqueeze", "Slice", "Pad", "CumSum"};
  return names;
}

size_t set_values(const AttributeProto& attribute) {
  switch (attribute.type()) {
    case AttributeProto::FLOAT:
    case AttributeProto::INT:
    case AttributeProto::STRING:
      return 1;  // zeros and empty texts are not written
    case AttributeProto::FLOATS:
      return attribute.floats_size();
    case AttributeProto::INTS:
      return attribute.ints_size();
    case AttributeProto::STRINGS:
      return attribute.strings_size();
    default:
      return 0;
  }
}

void check_attributes(const proto::onnx::NodeProto& node) {
  std::set<std::string> names;
  for (const AttributeProto& attribute : node.attribute()) {
    CHECK(names.insert(attribute.name()).second);
    CHECK(set_values(attribute) > 0);
    if (axes_by_input().contains(node.op_type())) CHECK(attribute.name() != "axes");
  }
  const auto required = required_attributes().find(node.op_type());
  if (required == required_attributes().end()) return;
  for (const std::string& name : required->second) CHECK(names.contains(name));
}

size_t element_size(int32_t type) {
  static const std::map<int32_t, size_t> sizes{
      {TensorProto::FLOAT, 4}, {TensorProto::DOUBLE, 8}, {TensorProto::INT64, 8},   {TensorProto::INT32, 4},
      {TensorProto::BOOL, 1},  {TensorProto::UINT8, 1},  {TensorProto::FLOAT16, 2}, {TensorProto::BFLOAT16, 2},
      {TensorProto::INT8, 1},  {TensorProto::INT16, 2}};
  return sizes.at(type);
}

size_t byte_count(const TensorProto& tensor) {
  size_t count = element_size(tensor.data_type());
  for (const int64_t size : tensor.dims()) count *= size;
  return count;
}

// Everything that a loader would find wrong without running the graph.
void check_nodes(const GraphProto& graph) {
  std::set<std::string> values;  // those that a node may read so far
  for (const auto& input : graph.input()) CHECK(values.insert(input.name()).second);
  for (const TensorProto& tensor : graph.initializer()) {
    INFO(tensor.name());
    CHECK(values.insert(tensor.name()).second);
    CHECK(tensor.raw_data().size() == byte_count(tensor));
  }
  std::set<std::string> nodes;
  for (const auto& node : graph.node()) {
    INFO(node.name() << " = " << node.op_type());
    CHECK(nodes.insert(node.name()).second);
    for (const std::string& input : node.input()) CHECK((input.empty() || values.contains(input)));
    for (const std::string& output : node.output()) CHECK((!output.empty() && values.insert(output).second));
    check_attributes(node);
  }
  for (const auto& output : graph.output()) {
    CHECK(values.contains(output.name()));
    CHECK(output.type().tensor_type().elem_type() != TensorProto::UNDEFINED);
  }
}

std::vector<std::string> sizes_of(const proto::onnx::ValueInfoProto& value) {
  std::vector<std::string> sizes;
  for (const auto& dim : value.type().tensor_type().shape().dim()) {
    sizes.push_back(dim.has_dim_value() ? std::to_string(dim.dim_value()) : dim.dim_param());
  }
  return sizes;
}

const TensorProto& initializer(const GraphProto& graph, const std::string& name) {
  for (const TensorProto& tensor : graph.initializer()) {
    if (tensor.name() == name) return tensor;
  }
  FAIL("no initializer " << name);
  throw std::logic_error("unreachable");
}

std::string bytes_of(const at::Tensor& given) {
  const at::Tensor tensor = given.contiguous();
  return {static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes()};
}

Json signatures_of(const ModelProto& model) {
  REQUIRE(model.metadata_props_size() == 1);
  CHECK(model.metadata_props(0).key() == kOnnxSignatures);
  return Json::parse(model.metadata_props(0).value());
}

std::map<std::string, std::string> external_data(const TensorProto& tensor) {
  std::map<std::string, std::string> entries;
  for (const auto& entry : tensor.external_data()) entries[entry.key()] = entry.value();
  return entries;
}

}  // namespace

TEST_CASE("Every case is written as ONNX with whole nodes", "[export][onnx]") {
  ExportCases all = all_export_cases();
  for (ExportCase& one : onnx_only_cases()) all.push_back(std::move(one));
  for (const ExportCase& one : all) {
    INFO(one.name);
    const OnnxModel model = written(one.request);
    const std::string problem = model.problems.empty() ? "" : model.problems[0];
    CHECK(problem.empty());
    if (problem.empty()) check_nodes(decoded(model).graph());
  }
}

TEST_CASE("An ONNX model has the receiver's inputs and the signature's outputs", "[export][onnx]") {
  const ModelProto model = decoded(written(wide_and_deep_request()));
  CHECK(model.ir_version() == 8);
  CHECK(model.producer_name() == "belfry");
  CHECK_FALSE(model.producer_version().empty());
  REQUIRE(model.opset_import_size() == 1);
  CHECK(model.opset_import(0).domain().empty());
  CHECK(model.opset_import(0).version() == 17);
  const GraphProto& graph = model.graph();
  REQUIRE(graph.input_size() == 3);
  CHECK(graph.input(0).name() == "dense");
  CHECK((sizes_of(graph.input(0)) == std::vector<std::string>{"batch", "3"}));
  CHECK(graph.input(1).name() == "ids");
  CHECK(graph.input(1).type().tensor_type().elem_type() == TensorProto::INT64);
  CHECK((sizes_of(graph.input(1)) == std::vector<std::string>{"batch"}));
  REQUIRE(graph.output_size() == 2);
  CHECK(graph.output(0).name() == "logits");
  CHECK((sizes_of(graph.output(0)) == std::vector<std::string>{"batch", "3"}));
}

TEST_CASE("Sizes that are not the batch have names of their own", "[export][onnx]") {
  const auto function = [](const Features& features) -> TensorDict {
    const at::Tensor& x = features["x"];
    return {{"turned", x.transpose(0, 1)},
            {"flat", x.reshape({-1})},
            {"chosen", x.masked_select(x > 0)},
            {"mean", x.mean()},
            {"again", x.reshape({x.size(0), 2, 2})}};
  };
  const GraphProto graph =
      decoded(written({function, ServingInputReceiver(Specs{{"x", {.shape = {-1, 4}}}}), {}})).graph();
  std::map<std::string, std::vector<std::string>> sizes;
  for (const auto& output : graph.output()) sizes[output.name()] = sizes_of(output);
  CHECK((sizes["turned"] == std::vector<std::string>{"4", "batch"}));
  CHECK((sizes["flat"] == std::vector<std::string>{"flat_dim_0"}));
  CHECK((sizes["chosen"] == std::vector<std::string>{"chosen_dim_0"}));
  CHECK(sizes["mean"].empty());
  CHECK((sizes["again"] == std::vector<std::string>{"batch", "2", "2"}));
}

TEST_CASE("Weights are initializers named after their variables", "[export][onnx]") {
  const TraceRequest request = wide_and_deep_request();
  const GraphProto graph = decoded(written(request)).graph();
  for (const auto& [name, tensor] : request.variables) {
    const TensorProto& written = initializer(graph, name);
    CHECK(written.raw_data() == bytes_of(tensor));
    CHECK((std::vector<int64_t>(written.dims().begin(), written.dims().end()) == tensor.sizes().vec()));
  }
}

TEST_CASE("The gates of an LSTM are in ONNX's order", "[export][onnx]") {
  torch::nn::LSTM lstm(torch::nn::LSTMOptions(6, 5).batch_first(true));
  lstm->eval();
  const auto function = [lstm](const at::Tensor& x) mutable { return std::get<0>(lstm->forward(x)); };
  const GraphProto graph =
      decoded(written(request_of(function, {.shape = {-1, 4, 6}}, named_tensors("net", *lstm)))).graph();
  const auto gates = lstm->named_parameters()["weight_ih_l0"].detach().chunk(4);  // i, f, g, o
  const TensorProto& weight = initializer(graph, "net/weight_ih_l0");
  CHECK(weight.raw_data() == bytes_of(torch::cat({gates[0], gates[3], gates[1], gates[2]})));
  CHECK(weight.dims_size() == 3);
}

TEST_CASE("A weight that is used twice in one layout is one initializer", "[export][onnx]") {
  torch::nn::LSTM lstm(torch::nn::LSTMOptions(6, 6).batch_first(true));
  lstm->eval();
  const auto function = [lstm](const at::Tensor& x) mutable {
    return std::get<0>(lstm->forward(std::get<0>(lstm->forward(x))));
  };
  const GraphProto graph =
      decoded(written(request_of(function, {.shape = {-1, 4, 6}}, named_tensors("net", *lstm)))).graph();
  int weights = 0;
  for (const TensorProto& one : graph.initializer()) weights += one.name().starts_with("net/weight") ? 1 : 0;
  CHECK(weights == 2);
}

TEST_CASE("The same model gives the same ONNX model", "[export][onnx]") {
  const TraceRequest request = attention_request();
  CHECK(written(request).bytes == written(request).bytes);
}

TEST_CASE("Outputs of several signatures have the signature's name, and the metadata tell them", "[export][onnx]") {
  GraphBuilder builder;
  const GraphValue x = builder.input("x", {at::kFloat, {-1, 2}});
  const GraphValue y = builder.unary(Operation::kSigmoid, x);
  const GraphValue ids = builder.arg_reduce(Operation::kArgMax, y, 1, true);
  const Graph graph = builder.build({{"a", y}, {"b", ids}, {"c", x}});
  const std::vector<TracedSignature> signatures{
      {"classes", ExportKind::kClassification, {{"scores", 0}, {"classes", 1, {"no", "yes"}}}, {"no", "yes"}},
      {kServingDefault, ExportKind::kPredict, {{"p", 0}, {"x", 2}, {"classes/scores", 0}}}};
  const ModelProto model = decoded(onnx_bytes(graph, signatures));
  check_nodes(model.graph());
  const Json json = signatures_of(model);
  CHECK(json["classes"]["kind"] == "classification");
  CHECK((json["classes"]["class_names"] == Json{"no", "yes"}));
  CHECK((json["classes"]["inputs"] == Json::array({{{"name", "x"}, {"dtype", "float32"}, {"shape", {-1, 2}}}})));
  CHECK(json["classes"]["outputs"][0]["output"] == "classes/scores");
  CHECK((json["classes"]["outputs"][1]["vocabulary"] == Json{"no", "yes"}));
  CHECK(json["classes"]["outputs"][1]["dtype"] == "int64");
  const Json& outputs = json["serving_default"]["outputs"];
  CHECK(outputs[0]["output"] == "p");
  CHECK(outputs[1]["name"] == "x");
  CHECK(outputs[1]["output"] == "serving_default/x");  // the input has the name
  CHECK(outputs[2]["output"] == "serving_default/classes/scores");
}

TEST_CASE("Every operation that ONNX lacks is told with its places", "[export][onnx][refusal]") {
  torch::nn::Sequential net(torch::nn::Linear(6, 6), torch::nn::Linear(6, 6));
  const auto function = [net](const at::Tensor& x) mutable {
    const at::Tensor y = net->children()[0]->as<torch::nn::Linear>()->forward(x).sinh();
    return net->children()[1]->as<torch::nn::Linear>()->forward(y).sinh().cumprod(2);
  };
  const OnnxModel model = written(request_of(function, {.shape = {-1, 4, 6}}, named_tensors("net", *net)));
  CHECK(model.bytes.empty());
  REQUIRE(model.problems.size() == 2);
  CHECK_THAT(model.problems[0], Catch::StartsWith("aten::cumprod: "));
  CHECK_THAT(model.problems[1], Catch::Contains("aten::sinh") && Catch::Contains("2 times") &&
                                    Catch::Contains("'net/0/") && Catch::Contains("'net/1/"));
}

TEST_CASE("What ONNX cannot express of an operation is told too", "[export][onnx][refusal]") {
  const auto problem_of = [](GraphBuilder& builder, GraphValue y) {
    const OnnxModel model =
        onnx_bytes(builder.build({{"y", y}}), {{kServingDefault, ExportKind::kPredict, {{"y", 0}}}});
    CHECK(model.bytes.empty());
    REQUIRE(model.problems.size() == 1);
    return model.problems[0];
  };
  GraphBuilder builder;
  SECTION("an operation that the table does not have") {
    const GraphValue x = builder.input("x", {at::kFloat, {-1, 2}});
    const auto unknown = static_cast<Operation>(static_cast<int>(Operation::kUnsupported) + 1);
    builder.set_place("net/weight");
    const GraphValue y = builder.node(unknown, {x}, {}, {{at::kFloat, {-1, 2}}})[0];
    CHECK_THAT(problem_of(builder, builder.unary(Operation::kAbs, y)),
               Catch::Contains("ONNX: no operation computes it (near 'net/weight')"));
  }
  SECTION("strings") {
    const GraphValue words = builder.input("word", {kString, {-1, 1}});
    const GraphValue ids = builder.hash_bucket(words, 10);
    const OnnxModel model =
        onnx_bytes(builder.build({{"y", ids}}), {{kServingDefault, ExportKind::kPredict, {{"y", 0}}}});
    CHECK(model.bytes.empty());
    REQUIRE(model.problems.size() == 2);
    CHECK_THAT(model.problems[0], Catch::StartsWith("hash_bucket: ONNX: no operation"));
    CHECK_THAT(model.problems[1], Catch::StartsWith("input: ONNX: no strings, and 'word'"));
  }
  SECTION("a dtype") {
    const GraphValue x = builder.input("x", {at::kComplexFloat, {-1, 2}});
    CHECK_THAT(problem_of(builder, builder.unary(Operation::kAbs, x)), Catch::Contains("ONNX has no dtype"));
  }
  SECTION("pooling of integers") {
    const GraphValue x = builder.input("x", {at::kLong, {-1, 1, 4, 4}});
    const GraphAttributes attributes{{"kernel", std::vector<int64_t>{2, 2}},
                                     {"strides", std::vector<int64_t>{2, 2}},
                                     {"padding", std::vector<int64_t>{0, 0}},
                                     {"dilations", std::vector<int64_t>{1, 1}},
                                     {"ceil", false}};
    const GraphValue y = builder.node(Operation::kMaxPool, {x}, attributes, {{at::kLong, {-1, 1, 2, 2}}})[0];
    CHECK_THAT(problem_of(builder, y), Catch::StartsWith("max_pool: ONNX pools no integers"));
  }
}

TEST_CASE("Weights beyond the limit are in a file beside the model", "[export][onnx]") {
  const TraceRequest request = wide_and_deep_request();
  const OnnxModel whole = written(request);
  CHECK(whole.data.empty());
  const OnnxModel parted = written(request, {.inline_bytes_limit = 100, .data_file = "weights"});
  const GraphProto graph = decoded(parted).graph();
  size_t outside = 0;
  for (const auto& [name, tensor] : request.variables) {
    INFO(name);
    const TensorProto& written = initializer(graph, name);
    if (tensor.nbytes() <= 256) {
      CHECK(written.raw_data() == bytes_of(tensor));
      continue;
    }
    ++outside;
    CHECK(written.data_location() == TensorProto::EXTERNAL);
    CHECK(written.raw_data().empty());
    const auto entries = external_data(written);
    CHECK(entries.at("location") == "weights");
    const size_t offset = std::stoul(entries.at("offset"));
    CHECK(offset % 4096 == 0);
    CHECK(entries.at("length") == std::to_string(tensor.nbytes()));
    CHECK(parted.data.substr(offset, tensor.nbytes()) == bytes_of(tensor));
  }
  CHECK(outside > 0);
  CHECK(parted.data == written(request, {.inline_bytes_limit = 100}).data);
}
