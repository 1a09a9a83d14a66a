#include "export/export_output.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "core/error.h"

namespace belfry {
namespace {

std::string output_name(const std::string& name) { return name.empty() ? "output" : name; }

void check(const PredictOutput& predict) {
  require(!predict.outputs.empty(), "PredictOutput: there is no output");
  for (const auto& [name, value] : predict.outputs) {
    require(value.is_tensor(), "PredictOutput: output '", output_name(name),
            "' holds strings: give int64 ids and their names in .vocabularies");
    require(value.tensor().defined(), "PredictOutput: output '", output_name(name), "' is an undefined tensor");
  }
  for (const auto& [name, names] : predict.vocabularies) {
    const auto named = [&, &wanted = name](const auto& entry) { return output_name(entry.first) == wanted; };
    const auto found = std::find_if(predict.outputs.begin(), predict.outputs.end(), named);
    require(found != predict.outputs.end(), "PredictOutput: there is a vocabulary for '", name,
            "', but no such output");
    require(found->second.tensor().scalar_type() == at::kLong, "PredictOutput: output '", name,
            "' has a vocabulary and ", "therefore has to be int64 ids; it is ", found->second.tensor().scalar_type());
    require(!names.empty(), "PredictOutput: the vocabulary of '", name, "' is empty");
  }
}

void check(const ClassificationOutput& classification) {
  const auto& [scores, ids, names] = classification;
  require(scores.defined() || ids.defined(), "ClassificationOutput: neither scores nor class_ids were given");
  if (scores.defined()) {
    require(at::isFloatingType(scores.scalar_type()), "ClassificationOutput: scores have to be floating point, not ",
            scores.scalar_type());
    require(scores.dim() == 2, "ClassificationOutput: scores have to be [batch, classes]; they are ", scores.sizes());
  }
  if (ids.defined()) {
    require(ids.scalar_type() == at::kLong && ids.dim() == 2,
            "ClassificationOutput: class_ids have to be int64 [batch, k]; they are ", ids.scalar_type(), " ",
            ids.sizes());
  }
  if (scores.defined() && ids.defined() && !names.empty()) {
    require(scores.size(1) <= static_cast<int64_t>(names.size()), "ClassificationOutput: there are ", names.size(),
            " class names for ", scores.size(1), " columns of scores");
  }
  if (!ids.defined() && !names.empty()) {
    require(scores.size(1) == static_cast<int64_t>(names.size()), "ClassificationOutput: there are ", names.size(),
            " class names for ", scores.size(1), " columns of scores");
  }
}

void check(const RegressionOutput& regression) {
  const at::Tensor& value = regression.value;
  require(value.defined(), "RegressionOutput: the value is an undefined tensor");
  require(at::isFloatingType(value.scalar_type()), "RegressionOutput: the value has to be floating point, not ",
          value.scalar_type());
  require(value.dim() == 1 || value.dim() == 2, "RegressionOutput: the value has to be [batch] or [batch, n]; it is ",
          value.sizes());
}

std::vector<ExportTensor> named_tensors(const PredictOutput& predict) {
  std::vector<ExportTensor> tensors;
  for (const auto& [name, value] : predict.outputs) {
    const auto names = predict.vocabularies.find(output_name(name));
    tensors.push_back({output_name(name), value.tensor(),
                       names == predict.vocabularies.end() ? std::vector<std::string>() : names->second});
  }
  return tensors;
}

std::vector<ExportTensor> named_tensors(const ClassificationOutput& classification) {
  std::vector<ExportTensor> tensors;
  if (classification.scores.defined()) tensors.push_back({"scores", classification.scores, {}});
  if (classification.class_ids.defined()) {
    tensors.push_back({"classes", classification.class_ids, classification.class_names});
  }
  return tensors;
}

std::vector<ExportTensor> named_tensors(const RegressionOutput& regression) {
  return {{"outputs", regression.value, {}}};
}

std::string quoted_names(const ExportOutputs& outputs) {
  std::string text;
  for (const auto& [name, output] : outputs) text += (text.empty() ? "'" : ", '") + name + "'";
  return text;
}

}  // namespace

const char* to_string(ExportKind kind) {
  switch (kind) {
    case ExportKind::kPredict:
      return "predict";
    case ExportKind::kClassification:
      return "classification";
    case ExportKind::kRegression:
      return "regression";
  }
  return "unknown";
}

ExportOutput::ExportOutput(PredictOutput output) : value_(std::move(output)) { check(std::get<PredictOutput>(value_)); }

ExportOutput::ExportOutput(ClassificationOutput output) : value_(std::move(output)) {
  check(std::get<ClassificationOutput>(value_));
}

ExportOutput::ExportOutput(RegressionOutput output) : value_(std::move(output)) {
  check(std::get<RegressionOutput>(value_));
}

std::vector<ExportTensor> ExportOutput::tensors() const {
  return std::visit([](const auto& output) { return named_tensors(output); }, value_);
}

std::vector<std::string> ExportOutput::class_names() const {
  const auto* classification = std::get_if<ClassificationOutput>(&value_);
  return classification ? classification->class_names : std::vector<std::string>();
}

ExportOutputs::ExportOutputs(std::initializer_list<Entry> entries) {
  for (const Entry& entry : entries) {
    if (find(entry.first)) fail(ErrorKind::kAlreadyExists, "export outputs: the name '", entry.first, "' comes twice");
    set(entry.first, entry.second);
  }
}

void ExportOutputs::set(const std::string& name, ExportOutput output) {
  require(!name.empty(), "export outputs: a signature needs a name; the default one is ", kServingDefault);
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.first == name; });
  if (found != entries_.end()) {
    found->second = std::move(output);
  } else {
    entries_.emplace_back(name, std::move(output));
  }
}

const ExportOutput* ExportOutputs::find(std::string_view name) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.first == name; });
  return found == entries_.end() ? nullptr : &found->second;
}

ExportOutputs resolve_export_outputs(ExportOutputs outputs, const Predictions& predictions) {
  if (outputs.empty()) {
    require(!predictions.empty(), "export outputs: there are none, and no predictions to make them of");
    outputs.set(kServingDefault, PredictOutput{predictions});
  }
  if (outputs.find(kServingDefault)) return outputs;
  require(outputs.size() == 1, "export outputs: of several, one has to be named ", kServingDefault, "; there are ",
          quoted_names(outputs));
  const ExportOutput only = outputs.begin()->second;
  outputs.set(kServingDefault, only);
  return outputs;
}

}  // namespace belfry
