#include "export/internal/predictor_method.h"

#include <ATen/ATen.h>

#include "core/error.h"
#include "export/internal/attribute_json.h"

namespace belfry::internal {
namespace {

namespace jit = torch::jit;

std::vector<PredictorTensor> tensors_of(const Json& described) {
  std::vector<PredictorTensor> tensors;
  for (const Json& one : described) {
    const std::vector<int64_t> shape = one.at("shape");
    tensors.push_back({one.at("name"), {dtype_of(one.at("dtype")), shape}});
  }
  return tensors;
}

std::vector<std::string> texts_of(const Json& described) {
  std::vector<std::string> texts;
  for (const Json& one : described) texts.push_back(text_from_json(one));
  return texts;
}

ExportKind kind_of(const std::string& name) {
  for (const ExportKind kind : {ExportKind::kPredict, ExportKind::kClassification, ExportKind::kRegression}) {
    if (to_string(kind) == name) return kind;
  }
  fail(ErrorKind::kDataLoss, "there is no signature of kind '", name, "'");
}

// As a SavedModel of the same signature does.
void add_column_names(PredictorMethod& method, const Json& described) {
  auto& outputs = method.signature.outputs;
  const bool is_scores = outputs.size() == 1 && outputs[0].name == "scores";
  if (method.signature.kind != ExportKind::kClassification || !is_scores || !described.contains("class_names")) return;
  method.column_names = texts_of(described.at("class_names"));
  const auto columns = static_cast<int64_t>(method.column_names.size());
  const std::vector<int64_t> shape = outputs[0].type.shape;
  if (shape.size() != 2 || (shape[1] != columns && shape[1] != -1)) {
    fail(ErrorKind::kDataLoss, "there are ", columns, " class names for scores of ", to_string(outputs[0].type));
  }
  outputs.push_back({"classes", {kString, {shape[0], columns}}});
}

PredictorMethod method_of(const std::string& name, const Json& described) {
  PredictorMethod method{{name, kind_of(described.at("kind"))}, described.at("method")};
  method.signature.features = method.signature.inputs = tensors_of(described.at("inputs"));
  method.signature.outputs = tensors_of(described.at("outputs"));
  for (size_t i = 0; i < method.signature.outputs.size(); ++i) {
    const Json& output = described.at("outputs")[i];
    if (!output.contains("vocabulary")) continue;
    PredictorTensor& tensor = method.signature.outputs[i];
    method.vocabularies[tensor.name] = texts_of(output.at("vocabulary"));
    tensor.type.dtype = kString;
  }
  add_column_names(method, described);
  return method;
}

// `self` and an argument for each input.
void check_method(const jit::Module& module, const PredictorMethod& method) {
  const auto found = module.find_method(method.method);
  if (!found) fail(ErrorKind::kDataLoss, "it has no method '", method.method, "'");
  const size_t arguments = found->function().getSchema().arguments().size();
  if (arguments != method.signature.features.size() + 1) {
    fail(ErrorKind::kDataLoss, "method '", method.method, "' takes ", arguments - 1, " tensors and is described with ",
         method.signature.features.size());
  }
}

std::vector<PredictorMethod> described_methods(const jit::Module& module, const std::string& description) {
  std::vector<PredictorMethod> methods;
  const Json json = Json::parse(description);
  if (json.at("format") != 1) fail(ErrorKind::kDataLoss, "format ", json.at("format").dump(), " is not known");
  for (const auto& [name, described] : json.at("signatures").items()) {
    methods.push_back(method_of(name, described));
    check_method(module, methods.back());
  }
  return methods;
}

PredictorMethod foreign_method(const jit::Module& module) {
  PredictorMethod method{{kServingDefault}, "forward"};
  const auto found = module.find_method("forward");
  if (!found) fail(ErrorKind::kDataLoss, "it has no method 'forward'");
  const auto& arguments = found->function().getSchema().arguments();
  for (size_t i = 1; i < arguments.size(); ++i) {
    if (arguments[i].default_value()) continue;
    if (arguments[i].type()->kind() != c10::TypeKind::TensorType) {
      fail(ErrorKind::kUnimplemented, "argument '", arguments[i].name(), "' of forward is ", arguments[i].type()->str(),
           "; only tensors can be given");
    }
    method.signature.inputs.push_back({arguments[i].name(), {}, false});
  }
  method.signature.features = method.signature.inputs;
  return method;
}

StringTensor words_of(const at::Tensor& ids, const std::vector<std::string>& words, const std::string& name) {
  std::vector<std::string> result;
  const at::Tensor flat = ids.to(at::kLong).contiguous().reshape({-1});
  for (int64_t i = 0; i < flat.numel(); ++i) {
    const int64_t id = flat.const_data_ptr<int64_t>()[i];
    const bool known = id >= 0 && id < static_cast<int64_t>(words.size());
    require(known, "output '", name, "' has id ", id, ", and names for ", words.size(), " ids");
    result.push_back(words[id]);
  }
  return {std::move(result), ids.sizes().vec()};
}

StringTensor in_each_row(const std::vector<std::string>& names, int64_t rows) {
  std::vector<std::string> result;
  for (int64_t row = 0; row < rows; ++row) result.insert(result.end(), names.begin(), names.end());
  return {std::move(result), {rows, static_cast<int64_t>(names.size())}};
}

at::Tensor tensor_of(const c10::IValue& value, const SharedMemory& shared) {
  require(value.isTensor(), "the model answers with ", value.tagKind(), " where a tensor is wanted");
  return shared.own(value.toTensor().detach()).cpu();
}

std::vector<c10::IValue> elements_of(const c10::IValue& result) {
  if (result.isTuple()) return result.toTuple()->elements().vec();
  if (result.isList()) return result.toListRef().vec();
  return {result};
}

TensorDict foreign_outputs(const c10::IValue& result, const SharedMemory& shared) {
  if (result.isGenericDict()) {
    TensorDict outputs;
    for (const auto& entry : result.toGenericDict())
      outputs.set(entry.key().toStringRef(), tensor_of(entry.value(), shared));
    return outputs;
  }
  const std::vector<c10::IValue> elements = elements_of(result);
  TensorDict outputs;
  for (size_t i = 0; i < elements.size(); ++i) {
    outputs.set(result.isTensor() ? "output" : concat("output_", i), tensor_of(elements[i], shared));
  }
  return outputs;
}

}  // namespace

std::vector<PredictorMethod> methods_of(const jit::Module& module, const std::string& description) {
  if (description.empty()) return {foreign_method(module)};
  try {
    return described_methods(module, description);
  } catch (const Json::exception& error) {
    fail(ErrorKind::kDataLoss, "its description is not whole: ", error.what());
  }
}

at::Tensor SharedMemory::own(const at::Tensor& tensor) const {
  return storages_.contains(tensor.storage().unsafeGetStorageImpl()) ? tensor.clone() : tensor;
}

TensorDict named_outputs(const PredictorMethod& method, const c10::IValue& result, const SharedMemory& shared) {
  if (method.signature.outputs.empty()) return foreign_outputs(result, shared);
  const std::vector<c10::IValue> elements = elements_of(result);
  const auto& described = method.signature.outputs;
  const size_t computed = described.size() - (method.column_names.empty() ? 0 : 1);
  if (elements.size() != computed) {
    fail(ErrorKind::kDataLoss, "the model gives ", elements.size(), " tensors and is described with ", computed);
  }
  TensorDict outputs;
  for (size_t i = 0; i < elements.size(); ++i) {
    const at::Tensor tensor = tensor_of(elements[i], shared);
    const auto words = method.vocabularies.find(described[i].name);
    if (words == method.vocabularies.end()) {
      outputs.set(described[i].name, tensor);
    } else {
      outputs.set(described[i].name, words_of(tensor, words->second, described[i].name));
    }
  }
  if (!method.column_names.empty()) {
    outputs.set(described.back().name, in_each_row(method.column_names, outputs.at("scores").rows()));
  }
  return outputs;
}

namespace {

void move_constants(jit::Block* block, at::Device device) {
  for (jit::Node* node : block->nodes()) {
    const bool is_device = node->kind() == c10::prim::Constant && node->outputs().size() == 1 &&
                           node->output()->type()->kind() == c10::TypeKind::DeviceObjType;
    if (is_device && node->hasAttribute(c10::attr::value)) node->s_(c10::attr::value, device.str());
    for (jit::Block* inner : node->blocks()) move_constants(inner, device);
  }
}

}  // namespace

void move_constants(const jit::Module& module, at::Device device) {
  if (device.is_cpu()) return;
  for (const jit::Method& method : module.get_methods()) move_constants(method.graph()->block(), device);
}

}  // namespace belfry::internal
