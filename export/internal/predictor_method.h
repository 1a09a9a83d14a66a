// A method of a TorchScript module as named tensors see it.
#pragma once

#include <torch/csrc/jit/api/module.h>

#include <map>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "export/predictor.h"

namespace belfry::internal {

struct PredictorMethod {
  PredictorSignature signature;
  std::string method;
  std::map<std::string, std::vector<std::string>> vocabularies = {};  // by output: what its ids stand for
  // Of scores without ids: the names of their columns, which every row gets as "classes".
  std::vector<std::string> column_names = {};
};

// Of the description inside an export, or of a foreign module's `forward`. kDataLoss when the description is damaged or
// names what the module lacks.
std::vector<PredictorMethod> methods_of(const torch::jit::Module& module, const std::string& description);

// Tensors that a caller must not get: weights, which all calls read, and the caller's own.
class SharedMemory {
 public:
  void add(const at::Tensor& tensor) { storages_.insert(tensor.storage().unsafeGetStorageImpl()); }
  // The tensor, or a copy of one that lies in shared memory.
  at::Tensor own(const at::Tensor& tensor) const;

 private:
  std::unordered_set<const c10::StorageImpl*> storages_;
};

// The outputs by name; a foreign module's are named as Predictor says. kInvalidArgument for other outputs than tensors.
TensorDict named_outputs(const PredictorMethod& method, const c10::IValue& result, const SharedMemory& shared);

// A trace holds the device on which tensors are made as a constant: makes it this one.
void move_constants(const torch::jit::Module& module, at::Device device);

}  // namespace belfry::internal
