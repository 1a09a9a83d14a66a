#include "export/export_output.h"

#include "tests/support/check_fails.h"
#include "tests/testing.h"

using namespace belfry;

namespace {

constexpr ErrorKind kInvalid = ErrorKind::kInvalidArgument;

PredictOutput lone(double value = 1) { return PredictOutput{torch::full({2, 1}, value)}; }

std::vector<std::string> names_of(const ExportOutputs& outputs) {
  std::vector<std::string> names;
  for (const auto& [name, output] : outputs) names.push_back(name);
  return names;
}

std::vector<std::string> names_of(const ExportOutput& output) {
  std::vector<std::string> names;
  for (const ExportTensor& tensor : output.tensors()) names.push_back(tensor.name);
  return names;
}

}  // namespace

TEST_CASE("Without export outputs the predictions are served as the default", "[export][E23]") {
  const Predictions predictions{{"logits", torch::zeros({2, 3})}, {"ids", torch::zeros({2}, torch::kLong)}};
  const ExportOutputs outputs = resolve_export_outputs({}, predictions);
  CHECK(names_of(outputs) == std::vector<std::string>{"serving_default"});
  CHECK(outputs.find(kServingDefault)->kind() == ExportKind::kPredict);
  CHECK(names_of(*outputs.find(kServingDefault)) == std::vector<std::string>{"logits", "ids"});
  CHECK_FAILS(resolve_export_outputs({}, {}), kInvalid, "no predictions");
}

TEST_CASE("One export output is served under its own name and as the default", "[export][E24]") {
  const ExportOutputs outputs = resolve_export_outputs({{"prices", lone()}}, {});
  CHECK(names_of(outputs) == std::vector<std::string>{"prices", "serving_default"});
  CHECK(outputs.find("prices")->tensors()[0].tensor.is_same(outputs.find(kServingDefault)->tensors()[0].tensor));
  CHECK(names_of(resolve_export_outputs(outputs, {})) == names_of(outputs));
}

TEST_CASE("Of several export outputs one has to be the default", "[export][E24]") {
  CHECK_FAILS(resolve_export_outputs({{"a", lone()}, {"b", lone()}}, {}), kInvalid, "'a', 'b'");
  const ExportOutputs outputs = resolve_export_outputs({{"a", lone()}, {kServingDefault, lone(2)}}, {});
  CHECK(names_of(outputs) == std::vector<std::string>{"a", "serving_default"});
  CHECK(outputs.find(kServingDefault)->tensors()[0].tensor[0].item<float>() == 2);
}

TEST_CASE("Signatures need names of their own", "[export][E24]") {
  CHECK_FAILS((ExportOutputs{{"a", lone()}, {"a", lone()}}), ErrorKind::kAlreadyExists, "'a' comes twice");
  CHECK_FAILS((ExportOutputs{{"", lone()}}), kInvalid, "needs a name");
}

TEST_CASE("A lone predicted tensor is named output", "[export][E69]") {
  CHECK(names_of(ExportOutput(lone())) == std::vector<std::string>{"output"});
}

TEST_CASE("A predict output may hold ids of named things", "[export][E69]") {
  const at::Tensor ids = torch::tensor({1, 0});
  const ExportOutput output = PredictOutput{{{"animal", ids}, {"id", ids}}, {{"animal", {"cat", "dog"}}}};
  CHECK(output.tensors()[0].vocabulary == std::vector<std::string>{"cat", "dog"});
  CHECK(output.tensors()[1].vocabulary.empty());
  CHECK_FAILS(ExportOutput(PredictOutput{{{"a", ids}}, {{"b", {"x"}}}}), kInvalid, "no such output");
  CHECK_FAILS(ExportOutput(PredictOutput{{{"a", torch::zeros({2})}}, {{"a", {"x"}}}}), kInvalid,
              "int64 ids; it is Float");
  CHECK_FAILS(ExportOutput(PredictOutput{{{"a", ids}}, {{"a", {}}}}), kInvalid, "empty");
}

TEST_CASE("A predict output without dense numbers is refused", "[export][E69]") {
  CHECK_FAILS(ExportOutput(PredictOutput{}), kInvalid, "no output");
  CHECK_FAILS(ExportOutput(PredictOutput{at::Tensor()}), kInvalid, "undefined");
  CHECK_FAILS(ExportOutput(PredictOutput{StringTensor{"a"}}), kInvalid, "'output' holds strings");
}

TEST_CASE("A classification has scores, classes or both", "[export][E67]") {
  const at::Tensor scores = torch::rand({4, 2});
  const at::Tensor ids = torch::tensor({{1}, {0}, {0}, {1}});
  const ExportOutput both = ClassificationOutput{.scores = scores, .class_ids = ids, .class_names = {"no", "yes"}};
  CHECK(both.kind() == ExportKind::kClassification);
  CHECK(names_of(both) == std::vector<std::string>{"scores", "classes"});
  CHECK(both.tensors()[1].vocabulary == std::vector<std::string>{"no", "yes"});
  CHECK(both.class_names() == std::vector<std::string>{"no", "yes"});
  CHECK(names_of(ExportOutput(ClassificationOutput{.scores = scores})) == std::vector<std::string>{"scores"});
  CHECK(names_of(ExportOutput(ClassificationOutput{.class_ids = ids})) == std::vector<std::string>{"classes"});
}

TEST_CASE("A classification of wrong parts is refused", "[export][E67]") {
  const auto make = [](ClassificationOutput output) { return ExportOutput(std::move(output)); };
  CHECK_FAILS(make({}), kInvalid, "neither scores nor class_ids");
  CHECK_FAILS(make({.scores = torch::ones({2, 2}, torch::kLong)}), kInvalid, "floating point, not Long");
  CHECK_FAILS(make({.scores = torch::ones({2})}), kInvalid, "[batch, classes]");
  CHECK_FAILS(make({.scores = torch::ones({2, 2}), .class_names = {"a"}}), kInvalid, "1 class names for 2 columns");
  CHECK_FAILS(make({.class_ids = torch::ones({2, 1})}), kInvalid, "int64 [batch, k]");
}

TEST_CASE("A regression has one floating point value a row, named outputs", "[export][E68]") {
  const auto make = [](at::Tensor value) { return ExportOutput(RegressionOutput{std::move(value)}); };
  CHECK(names_of(make(torch::ones({3, 1}))) == std::vector<std::string>{"outputs"});
  CHECK(make(torch::ones({3})).kind() == ExportKind::kRegression);
  CHECK_FAILS(make({}), kInvalid, "undefined");
  CHECK_FAILS(make(torch::ones({3}, torch::kInt)), kInvalid, "not Int");
  CHECK_FAILS(make(torch::ones({3, 1, 1})), kInvalid, "[3, 1, 1]");
}
