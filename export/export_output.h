// What a model shows to those who serve it: named groups of output tensors, each one a signature of the export.
#pragma once

#include <ATen/core/Tensor.h>

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "../core/tensor_dict.h"

namespace belfry {

// The signature that a request without a signature's name gets.
inline constexpr const char* kServingDefault = "serving_default";

// Any tensors, of any dtype. A lone tensor is named "output".
struct PredictOutput {
  TensorDict outputs;
  // Output name to names: the output holds int64 ids, and id i stands for names[i]. A format that has strings writes
  // the strings, any other writes the ids and keeps the names in its metadata.
  std::map<std::string, std::vector<std::string>> vocabularies = {};
};

// Scores, classes or both.
struct ClassificationOutput {
  at::Tensor scores = {};     // floating point [batch, classes]; undefined where there are none
  at::Tensor class_ids = {};  // int64 [batch, k]; undefined: column i of the scores is class i
  // Name of each class id. Empty: an id stands for itself.
  std::vector<std::string> class_names = {};
};

// One number a row, floating point [batch] or [batch, n]; the output is named "outputs".
struct RegressionOutput {
  at::Tensor value;
};

enum class ExportKind { kPredict, kClassification, kRegression };

// "predict", "classification" or "regression".
const char* to_string(ExportKind kind);

// One tensor of a signature, with the names that its ids stand for, where it holds ids.
struct ExportTensor {
  std::string name;
  at::Tensor tensor;
  std::vector<std::string> vocabulary;
};

// One signature's outputs. Immutable; threads may share it.
class ExportOutput {
 public:
  // kInvalidArgument: no tensor at all, strings (give ids and a vocabulary), an undefined tensor, a vocabulary of an
  // output that is not there or not int64.
  ExportOutput(PredictOutput output);  // NOLINT(google-explicit-constructor)
  // kInvalidArgument: neither scores nor ids, a wrong dtype or rank, names that do not match the columns of the scores.
  ExportOutput(ClassificationOutput output);  // NOLINT(google-explicit-constructor)
  // kInvalidArgument: undefined, not floating point, or of another rank.
  ExportOutput(RegressionOutput output);  // NOLINT(google-explicit-constructor)

  ExportKind kind() const { return static_cast<ExportKind>(value_.index()); }
  const std::variant<PredictOutput, ClassificationOutput, RegressionOutput>& value() const { return value_; }
  // In the order of the model's outputs; "scores" before "classes".
  std::vector<ExportTensor> tensors() const;
  // Of a classification; otherwise empty.
  std::vector<std::string> class_names() const;

 private:
  std::variant<PredictOutput, ClassificationOutput, RegressionOutput> value_;
};

// Signature name to output, in the order of insertion.
class ExportOutputs {
 public:
  using Entry = std::pair<std::string, ExportOutput>;

  ExportOutputs() = default;
  // kAlreadyExists when a name comes twice, kInvalidArgument for an empty one.
  ExportOutputs(std::initializer_list<Entry> entries);

  void set(const std::string& name, ExportOutput output);  // replaces or appends; kInvalidArgument for an empty name
  const ExportOutput* find(std::string_view name) const;   // null when there is none; valid until the map changes
  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }
  std::vector<Entry>::const_iterator begin() const { return entries_.begin(); }
  std::vector<Entry>::const_iterator end() const { return entries_.end(); }

 private:
  std::vector<Entry> entries_;
};

// The signatures of a model, always with serving_default. None given: the predictions as a PredictOutput. One given: it
// stands under its own name and as serving_default. Several: serving_default has to be among them, else
// kInvalidArgument with the names. Applied to its own result it changes nothing.
ExportOutputs resolve_export_outputs(ExportOutputs outputs, const Predictions& predictions);

}  // namespace belfry
