// Records what a function computes as a graph that holds for any number of rows.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../core/tensor_dict.h"
#include "serving_input_receiver.h"

namespace torch::jit {
struct Graph;
}

namespace belfry {

// Names such as dnn/hiddenlayer_0/kernel to the tensors that the function reads.
using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

// `function` runs on the caller's thread, without gradients, several times and with different numbers of rows. It has
// to compute as in PREDICT (modules in eval mode), on the CPU, from the features and the variables alone.
struct TraceRequest {
  std::function<TensorDict(const Features& features)> function;
  ServingInputReceiver receiver;
  // Parameters and buffers, told apart by identity: the function has to read these very tensors. Other tensors that it
  // reads become constants, but for those that require gradients.
  NamedTensors variables = {};
};

// One output: -1 stands for a size that varies with the number of rows or with the length of a row.
struct TracedOutput {
  std::string name;
  c10::ScalarType dtype;
  std::vector<int64_t> shape;
};

// A graph whose first input is a module with the variables, the others those of the receiver, in its order. Its nodes
// read variables as attributes (prim::GetAttr) of names "v0", "v1" ... Its result is one tuple of tensors, the outputs.
// Types keep dtype and rank, and every size that does not depend on the rows. Writes into fresh tensors are gone; the
// operations that write into views stay and are listed, for formats that have no memory to write to.
struct Trace {
  std::shared_ptr<torch::jit::Graph> graph;
  std::vector<ServingInput> inputs;
  std::vector<TracedOutput> outputs;
  NamedTensors variables = {};  // those that the graph reads: variables[i] is its attribute "v<i>"
  std::vector<std::string> remaining_writes = {};
  std::vector<std::string> warnings;  // outputs whose dimension 0 is not the batch, decisions by values of features
};

// Traces `function` with 3 and with 5 rows of different random data, turns every integer that differs into a*rows + b,
// and compares the graph with the function itself at 1, 2, 7 and 11 rows, to 1e-5 relative. Where inputs have a free
// length, with two lengths each, and integers become a*rows + b*length + c*rows*length + d.
// kUnimplemented, with the operation, the variable nearest to it, and the reason: a model whose graph does not hold for
// every row count or hangs on the data (item(), branches on values, loops over rows, numbers such as 1.0 / rows,
// tensors made from host data). kFailedPrecondition: random operations, modules in training mode, writes to features or
// variables. kInvalidArgument: variables not on the CPU, named twice, or an output that is not a tensor of numbers.
// The process's generators are not touched.
Trace trace(const TraceRequest& request);

}  // namespace belfry
