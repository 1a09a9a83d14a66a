#include "towers/internal/merge_exports.h"

#include <ATen/ATen.h>

#include "core/error.h"

namespace belfry::internal {
namespace {

at::Tensor join(const std::string& name, const std::vector<at::Tensor>& parts) {
  std::vector<at::Tensor> moved;
  for (const at::Tensor& part : parts) {
    require(part.dim() > 0, "replicate_model_fn: '", name,
            "' is a scalar in a tower; towers are concatenated along the ",
            "batch, so that every prediction and export output needs a row for each example");
    moved.push_back(part.to(parts[0].device()));
  }
  return at::cat(moved, 0);
}

template <class Kind, class Get>
at::Tensor join_field(const std::string& name, const std::vector<const ExportOutput*>& towers, const Get& get) {
  std::vector<at::Tensor> parts;
  for (const ExportOutput* tower : towers) {
    const at::Tensor& part = get(std::get<Kind>(tower->value()));
    if (part.defined()) parts.push_back(part);
  }
  return parts.empty() ? at::Tensor() : join(name, parts);
}

ExportOutput join_outputs(const std::string& name, const std::vector<const ExportOutput*>& towers) {
  const ExportOutput& first = *towers[0];
  if (first.kind() == ExportKind::kRegression) {
    return RegressionOutput{join_field<RegressionOutput>(
        name, towers, [](const auto& o) -> auto& { return o.value; })};
  }
  if (first.kind() == ExportKind::kClassification) {
    ClassificationOutput joined = std::get<ClassificationOutput>(first.value());
    joined.scores = join_field<ClassificationOutput>(
        name, towers, [](const auto& o) -> auto& { return o.scores; });
    joined.class_ids = join_field<ClassificationOutput>(
        name, towers, [](const auto& o) -> auto& { return o.class_ids; });
    return joined;
  }
  PredictOutput joined = std::get<PredictOutput>(first.value());
  std::vector<Predictions> outputs;
  for (const ExportOutput* tower : towers) outputs.push_back(std::get<PredictOutput>(tower->value()).outputs);
  joined.outputs = merge_predictions(outputs);
  return joined;
}

const ExportOutput& same_kind(const ExportOutputs& outputs, const std::string& name, ExportKind kind, size_t tower) {
  const ExportOutput* found = outputs.find(name);
  if (!found || found->kind() != kind) {
    fail(ErrorKind::kFailedPrecondition, "tower ", tower, " has ", found ? to_string(found->kind()) : "no",
         " export output '", name, "'; tower 0 has ", to_string(kind));
  }
  return *found;
}

}  // namespace

Predictions merge_predictions(const std::vector<Predictions>& towers) {
  Predictions merged;
  for (const auto& [name, value] : towers[0]) {
    std::vector<at::Tensor> tensors;
    std::vector<StringTensor> strings;
    for (const Predictions& tower : towers) {
      if (value.is_tensor()) {
        tensors.push_back(tower[name]);
      } else {
        strings.push_back(tower.strings(name));
      }
    }
    merged.set(name, value.is_tensor() ? Value(join(name, tensors)) : Value(cat(strings)));
  }
  return merged;
}

ExportOutputs merge_exports(const std::vector<ExportOutputs>& towers) {
  ExportOutputs merged;
  for (const auto& [name, first] : towers[0]) {
    std::vector<const ExportOutput*> outputs;
    for (size_t i = 0; i < towers.size(); ++i) outputs.push_back(&same_kind(towers[i], name, first.kind(), i));
    merged.set(name, join_outputs(name, outputs));
  }
  return merged;
}

}  // namespace belfry::internal
