// All of what a SavedModel computes: the receiver's work, the model, and the strings that it answers with.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "serving_input_receiver.h"
#include "torchscript_writer.h"
#include "trace.h"

namespace belfry {

// How TensorFlow Serving is asked for a signature; kEval is that of an evaluation, which it does not serve.
enum class ServingMethod { kPredict, kClassify, kRegress, kEval };

struct ServedSignature {
  std::string name;
  ServingMethod method = ServingMethod::kPredict;
  std::vector<GraphOutput> inputs = {};   // values that a request gives
  std::vector<GraphOutput> outputs = {};  // and gets
};

struct ServingGraph {
  Graph graph;  // with all outputs of the signatures as SIGNATURE/OUTPUT
  std::vector<ServedSignature> signatures = {};
};

// A signature of a classification or a regression is served by its own method where the receiver parses examples, with
// "inputs" for their name and scores as float32, as far as its outputs are what that method takes; by the predict
// method otherwise. Ids with a vocabulary become its strings; scores with names and without ids get "classes", the
// names of their columns. Each alternative of the receiver serves all signatures again, as ALTERNATIVE:SIGNATURE.
ServingGraph serving_graph(const Trace& trace, const ServingInputReceiver& receiver,
                           const std::vector<TracedSignature>& signatures);

}  // namespace belfry
