#include "export/predictor.h"

#include <ATen/ATen.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>

#include "core/error.h"
#include "core/file_system.h"
#include "core/internal/zip_archive.h"
#include "export/internal/predictor_method.h"
#include "export/internal/receiver_json.h"
#include "export/internal/receiver_program.h"
#include "export/torchscript_writer.h"

namespace belfry {
namespace {

namespace jit = torch::jit;
using internal::PredictorMethod;

constexpr const char* kModelFile = "torchscript/model.pt";

bool is_number(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// The name that is the greatest number; empty when none is a number.
std::string newest_export(FileSystem& files, const std::string& base) {
  std::string newest;
  for (const std::string& name : files.list(base)) {
    if (!files.is_directory(join_path(base, name))) continue;
    const bool later = name.size() > newest.size() || (name.size() == newest.size() && name > newest);
    if (is_number(name) && later) newest = name;
  }
  return newest;
}

std::string file_in(FileSystem& files, const std::string& path) {
  if (!files.exists(path)) fail(ErrorKind::kNotFound, "Predictor: there is no '", path, "'");
  if (!files.is_directory(path)) return path;
  const std::string file = join_path(path, kModelFile);
  if (files.exists(file)) return file;
  const auto has = [&](const char* part) { return files.exists(join_path(path, part)); };
  if (has("saved_model.pb") || has("saved_model.pbtxt") || has("onnx")) {
    fail(ErrorKind::kUnimplemented, "Predictor: the export '", path, "' has no ", kModelFile,
         "; export it with ExportFormat::kTorchScript");
  }
  const std::string newest = newest_export(files, path);
  if (newest.empty()) fail(ErrorKind::kNotFound, "Predictor: '", path, "' holds no export");
  return file_in(files, join_path(path, newest));
}

std::string names_of(const std::map<std::string, PredictorMethod>& methods) {
  std::string names;
  for (const auto& [name, method] : methods) names += (names.empty() ? "'" : ", '") + name + "'";
  return names;
}

std::string names_of(const std::vector<PredictorTensor>& tensors) {
  std::string names;
  for (const PredictorTensor& tensor : tensors) names += (names.empty() ? "'" : ", '") + tensor.name + "'";
  return names;
}

bool fits(const TensorDict& inputs, const std::vector<PredictorTensor>& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const PredictorTensor& tensor) {
    const Value* value = inputs.find(tensor.name);
    return value && internal::is_of_type(*value, tensor.type);
  });
}

// A lone tensor under the name that it has to have.
TensorDict with_names(const TensorDict& inputs, const std::vector<PredictorTensor>& wanted) {
  if (wanted.size() != 1 || inputs.size() != 1 || !inputs.contains("")) return inputs;
  TensorDict named;
  named.set(wanted[0].name, inputs.only());
  return named;
}

void check_inputs(const TensorDict& inputs, const std::vector<PredictorTensor>& wanted) {
  for (const auto& [name, value] : inputs) {
    const auto named = [&, &given = name](const PredictorTensor& tensor) { return tensor.name == given; };
    require(std::any_of(wanted.begin(), wanted.end(), named), "Predictor: the model has no input '", name,
            "'; its inputs are ", names_of(wanted));
  }
  for (const auto& [name, value] : inputs) {
    const bool is_dense = value.is_strings() || (value.tensor().defined() && value.tensor().layout() == at::kStrided &&
                                                 !value.tensor().is_meta());
    require(is_dense, "Predictor: input '", name, "' is not a dense tensor with values");
  }
  std::optional<int64_t> rows;
  for (const PredictorTensor& tensor : wanted) {
    if (!inputs.contains(tensor.name)) {
      fail(ErrorKind::kNotFound, "Predictor: input '", tensor.name, "' is not given; the model's are ",
           names_of(wanted));
    }
    if (!tensor.is_typed) continue;
    const Value& value = inputs.at(tensor.name);
    internal::check_value(tensor.name, value, tensor.type);
    require(!rows || *rows == value.rows(), "Predictor: input '", tensor.name, "' has ", value.rows(),
            " rows, and others have ", rows.value_or(0));
    rows = value.rows();
  }
}

// The interpreter puts its own trace in front.
std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const size_t line = text.rfind('\n');
  return line == std::string::npos ? text : text.substr(line + 1);
}

}  // namespace

struct Predictor::Model {
  jit::Module module;
  at::Device device{at::kCPU};
  std::map<std::string, PredictorMethod> methods = {};
  std::optional<internal::ReceiverProgram> receiver = {};
  internal::SharedMemory weights = {};

  void load(const std::string& file, const PredictorOptions& options);
  void add_receiver(const std::string& description);
  TensorDict features(const PredictorMethod& method, const TensorDict& inputs) const;
  TensorDict run(const PredictorMethod& method, const TensorDict& features) const;
};

// LibTorch does not look at the checksums of what it loads.
void check_bytes(const std::string& path) {
  const std::unique_ptr<RandomAccessFile> file = posix_file_system().open(path);
  internal::ZipArchive(*file, "its bytes").check_all();
}

// Where the model shall compute.
at::Device device_of(const std::string& name) {
  std::optional<at::Device> device;
  try {
    device = at::Device(name);
  } catch (const c10::Error&) {
    fail(ErrorKind::kInvalidArgument, "Predictor: '", name, "' is no device; there are cpu, cuda:0 and so on");
  }
  if (device->is_cpu() || (device->is_cuda() && at::hasCUDA())) return *device;
  fail(ErrorKind::kUnimplemented, "Predictor: no model can compute on '", name, "' here");
}

void Predictor::Model::load(const std::string& file, const PredictorOptions& options) {
  device = device_of(options.device);
  jit::ExtraFilesMap extra{{kSignatureFile, ""}, {kReceiverFile, ""}};
  try {
    check_bytes(file);
    module = jit::load(file, device, extra);
    module.eval();
    internal::move_constants(module, device);
    for (const auto& attribute : module.named_attributes()) {
      if (attribute.value.isTensor()) weights.add(attribute.value.toTensor());
    }
    for (PredictorMethod& method : internal::methods_of(module, extra.at(kSignatureFile))) {
      methods.emplace(method.signature.name, std::move(method));
    }
    if (!extra.at(kReceiverFile).empty()) add_receiver(extra.at(kReceiverFile));
  } catch (const Error& error) {
    fail(error.kind(), "Predictor: '", file, "': ", error.what());
  } catch (const c10::Error& error) {
    fail(ErrorKind::kDataLoss, "Predictor: '", file, "' cannot be loaded: ", error.what_without_backtrace());
  } catch (const std::exception& error) {
    fail(ErrorKind::kDataLoss, "Predictor: '", file, "' cannot be loaded: ", error.what());
  }
}

void Predictor::Model::add_receiver(const std::string& description) {
  receiver.emplace(internal::receiver_from_json(description));
  std::vector<PredictorTensor> inputs;
  for (const GraphNode& node : receiver->graph().nodes()) {
    if (node.operation != Operation::kInput) continue;
    inputs.push_back({node.attributes.text("name"), receiver->graph().type(node.outputs[0])});
  }
  for (auto& [name, method] : methods) {
    for (const PredictorTensor& feature : method.signature.features) {
      const auto gives = [&](const GraphOutput& output) {
        return output.name == feature.name && receiver->graph().type(output.value) == feature.type;
      };
      const auto& outputs = receiver->graph().outputs();
      if (std::any_of(outputs.begin(), outputs.end(), gives)) continue;
      fail(ErrorKind::kDataLoss, "the receiver does not make '", feature.name, "', ", to_string(feature.type));
    }
    method.signature.inputs = inputs;
  }
}

TensorDict Predictor::Model::features(const PredictorMethod& method, const TensorDict& inputs) const {
  const PredictorSignature& signature = method.signature;
  const TensorDict named = with_names(inputs, signature.inputs);
  // A feature may have the name of the input that it is made of.
  const bool past_receiver = receiver && !fits(named, signature.inputs) && fits(named, signature.features);
  check_inputs(named, past_receiver ? signature.features : signature.inputs);
  return receiver && !past_receiver ? receiver->run(named) : named;
}

TensorDict Predictor::Model::run(const PredictorMethod& method, const TensorDict& features) const {
  const at::NoGradGuard no_grad;
  std::vector<c10::IValue> stack;
  internal::SharedMemory shared = weights;
  for (const PredictorTensor& tensor : method.signature.features) {
    stack.emplace_back(features.at(tensor.name).tensor().to(device));
    shared.add(stack.back().toTensor());
  }
  try {
    return internal::named_outputs(method, module.get_method(method.method)(std::move(stack)), shared);
  } catch (const Error&) {
    throw;
  } catch (const c10::Error& error) {
    fail(ErrorKind::kInvalidArgument,
         "Predictor: the model refuses the request: ", last_line(error.what_without_backtrace()));
  } catch (const std::exception& error) {
    fail(ErrorKind::kInvalidArgument, "Predictor: the model refuses the request: ", last_line(error.what()));
  }
}

Predictor::Predictor(const std::string& path, const PredictorOptions& options) {
  auto model = std::make_unique<Model>();
  model->load(file_in(posix_file_system(), path), options);
  model_ = std::move(model);
}

Predictor::~Predictor() = default;
Predictor::Predictor(Predictor&&) noexcept = default;
Predictor& Predictor::operator=(Predictor&&) noexcept = default;

const Predictor::Model& Predictor::model() const {
  if (!model_) fail(ErrorKind::kFailedPrecondition, "Predictor: it was moved from");
  return *model_;
}

std::vector<std::string> Predictor::signature_names() const {
  std::vector<std::string> names;
  for (const auto& [name, method] : model().methods) names.push_back(name);
  return names;
}

const PredictorSignature& Predictor::signature(const std::string& name) const {
  const auto found = model().methods.find(name);
  if (found == model().methods.end()) {
    fail(ErrorKind::kNotFound, "Predictor: there is no signature '", name, "'; there are ", names_of(model().methods));
  }
  return found->second.signature;
}

TensorDict Predictor::predict(const TensorDict& inputs, const std::string& name) const {
  signature(name);
  const PredictorMethod& method = model().methods.at(name);
  return model().run(method, model().features(method, inputs));
}

}  // namespace belfry
