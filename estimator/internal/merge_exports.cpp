#include "estimator/internal/merge_exports.h"

#include <ATen/ATen.h>

#include "core/error.h"
#include "estimator/internal/named_tower.h"

namespace belfry::internal {
namespace {

std::string described(const at::Tensor& tensor) { return concat(tensor.scalar_type(), " and shape ", tensor.sizes()); }

bool rows_fit(const at::Tensor& a, const at::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.dim() == b.dim() && a.sizes().slice(1) == b.sizes().slice(1);
}

at::Tensor join(const std::string& name, const std::vector<at::Tensor>& parts, const std::string& noun) {
  std::vector<at::Tensor> moved;
  for (size_t i = 0; i < parts.size(); ++i) {
    require(parts[i].dim() > 0, "'", name, "' is a scalar in a ", noun, "; ", noun,
            "s are concatenated along the batch, ",
            " so that every prediction and export output needs a row for each example");
    if (!rows_fit(parts[i], parts[0])) {
      fail(ErrorKind::kFailedPrecondition, NamedTower{noun, i}, " has '", name, "' of ", described(parts[i]), " and ",
           noun, " 0 of ", described(parts[0]), ": their rows do not fit together");
    }
    moved.push_back(parts[i].to(parts[0].device()));
  }
  return at::cat(moved, 0);
}

template <class Kind, class Get>
at::Tensor join_field(const std::string& name, const std::vector<const ExportOutput*>& towers, const std::string& noun,
                      const Get& get) {
  std::vector<at::Tensor> parts;
  for (size_t i = 0; i < towers.size(); ++i) {
    parts.push_back(get(std::get<Kind>(towers[i]->value())));
    if (parts[i].defined() != parts[0].defined()) {
      fail(ErrorKind::kFailedPrecondition, NamedTower{noun, i}, " and ", noun,
           " 0 differ in which parts of the export output '", name, "' they have");
    }
  }
  return parts[0].defined() ? join(name, parts, noun) : at::Tensor();
}

ExportOutput join_outputs(const std::string& name, const std::vector<const ExportOutput*>& towers,
                          const std::string& noun) {
  const ExportOutput& first = *towers[0];
  if (first.kind() == ExportKind::kRegression) {
    return RegressionOutput{join_field<RegressionOutput>(
        name, towers, noun, [](const auto& o) -> auto& { return o.value; })};
  }
  if (first.kind() == ExportKind::kClassification) {
    ClassificationOutput joined = std::get<ClassificationOutput>(first.value());
    joined.scores = join_field<ClassificationOutput>(
        name, towers, noun, [](const auto& o) -> auto& { return o.scores; });
    joined.class_ids = join_field<ClassificationOutput>(
        name, towers, noun, [](const auto& o) -> auto& { return o.class_ids; });
    return joined;
  }
  PredictOutput joined = std::get<PredictOutput>(first.value());
  std::vector<Predictions> outputs;
  for (const ExportOutput* tower : towers) outputs.push_back(std::get<PredictOutput>(tower->value()).outputs);
  joined.outputs = merge_predictions(outputs, noun);
  return joined;
}

const ExportOutput& same_kind(const ExportOutputs& outputs, const std::string& name, ExportKind kind,
                              const NamedTower& tower) {
  const ExportOutput* found = outputs.find(name);
  if (!found || found->kind() != kind) {
    fail(ErrorKind::kFailedPrecondition, tower, " has ", found ? to_string(found->kind()) : "no", " export output '",
         name, "'; ", tower.first(), " has ", to_string(kind));
  }
  return *found;
}

const Value& same_kind(const Predictions& predictions, const std::string& name, bool numbers, const NamedTower& tower) {
  const Value* found = predictions.find(name);
  if (!found || found->is_tensor() != numbers) {
    fail(ErrorKind::kFailedPrecondition, tower, " has ", !found ? "nothing" : (numbers ? "strings" : "numbers"),
         " as '", name, "'; ", tower.first(), " has ", numbers ? "numbers" : "strings");
  }
  return *found;
}

void check_no_more(const ExportOutputs& outputs, const ExportOutputs& first, const NamedTower& tower) {
  for (const auto& [name, output] : outputs) {
    if (first.find(name)) continue;
    fail(ErrorKind::kFailedPrecondition, tower, " has the export output '", name, "', which ", tower.first(),
         " has not");
  }
}

}  // namespace

Predictions merge_predictions(const std::vector<Predictions>& towers, const std::string& noun) {
  Predictions merged;
  for (const auto& [name, first] : towers[0]) {
    std::vector<at::Tensor> tensors;
    std::vector<StringTensor> strings;
    for (size_t i = 0; i < towers.size(); ++i) {
      const Value& value = same_kind(towers[i], name, first.is_tensor(), {noun, i});
      if (value.is_tensor()) {
        tensors.push_back(value.tensor());
      } else {
        strings.push_back(value.strings());
      }
    }
    merged.set(name, first.is_tensor() ? Value(join(name, tensors, noun)) : Value(cat(strings)));
  }
  return merged;
}

ExportOutputs merge_exports(const std::vector<ExportOutputs>& towers, const std::string& noun) {
  ExportOutputs merged;
  for (size_t i = 1; i < towers.size(); ++i) check_no_more(towers[i], towers[0], {noun, i});
  for (const auto& [name, first] : towers[0]) {
    std::vector<const ExportOutput*> outputs;
    for (size_t i = 0; i < towers.size(); ++i) outputs.push_back(&same_kind(towers[i], name, first.kind(), {noun, i}));
    merged.set(name, join_outputs(name, outputs, noun));
  }
  return merged;
}

}  // namespace belfry::internal
