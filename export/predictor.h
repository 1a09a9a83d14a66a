// Serves an exported model in C++, without its code.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "../core/tensor_dict.h"
#include "export_output.h"
#include "graph/graph.h"

namespace belfry {

// A tensor that a signature takes or gives. -1 in the shape is the batch, or a length. Of a foreign file nothing but
// the name is known: `is_typed` is then false.
struct PredictorTensor {
  std::string name;
  GraphType type = {};
  bool is_typed = true;
};

struct PredictorSignature {
  std::string name;
  ExportKind kind = ExportKind::kPredict;
  std::vector<PredictorTensor> inputs = {};  // what a request has to hold
  std::vector<PredictorTensor> features =
      {};  // what the model takes: the same but where a receiver makes them of inputs
  // Of type kString where ids have names. Scores with names and without ids have "classes" beside them: the names of
  // their columns, in each row.
  std::vector<PredictorTensor> outputs = {};
};

struct PredictorOptions {
  // Where the model computes: "cpu", "cuda:0". Requests and answers are on the CPU.
  std::string device = "cpu";
};

// Loads the TorchScript part of an export. Immutable after that: threads may use one object at the same time. All calls
// on one that was moved from are kFailedPrecondition.
class Predictor {
 public:
  // `path`: the folder of an export (BASE/<seconds>), a folder of such folders, whose newest is taken, or a TorchScript
  // file, which may come from elsewhere: it then has one signature, serving_default, which calls `forward` with the
  // inputs in the order of its arguments; the outputs are "output" for a lone tensor, "output_0", ... for a tuple or a
  // list, and the keys of a dict.
  // kNotFound: there is none of that. kDataLoss, with the file: it cannot be read, a checksum in it is wrong, or its
  // description does not fit it. kUnimplemented: the export has no TorchScript part, or there is no such device.
  // kInvalidArgument: what `device` names is none.
  explicit Predictor(const std::string& path, const PredictorOptions& options = {});
  ~Predictor();
  Predictor(Predictor&&) noexcept;
  Predictor& operator=(Predictor&&) noexcept;

  // In the order of their names.
  std::vector<std::string> signature_names() const;
  // kNotFound, with the names there are, when there is none.
  const PredictorSignature& signature(const std::string& name = kServingDefault) const;

  // The outputs of a signature by name, for any number of rows. `inputs` holds what signature().inputs names, strings
  // and serialized tf.Examples included, or, past a receiver, what signature().features names; a lone tensor needs no
  // name. kNotFound: there is no such signature, or an input lacks. kInvalidArgument, with the input's name: another
  // dtype or shape than the signature says, numbers of rows that differ, an input that it does not have, examples that
  // do not fit. What the model itself refuses (an id outside of an embedding) is kInvalidArgument with LibTorch's
  // words.
  TensorDict predict(const TensorDict& inputs, const std::string& signature = kServingDefault) const;

 private:
  struct Model;
  const Model& model() const;
  std::unique_ptr<const Model> model_;
};

}  // namespace belfry
