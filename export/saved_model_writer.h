// Writes a graph as TensorFlow's SavedModel, which TensorFlow, its command line and TensorFlow Serving run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "saved_model_options.h"
#include "serving_graph.h"

namespace belfry {

// A file of the folder assets/.
struct SavedModelAsset {
  std::string name;
  std::string bytes;
};

struct SavedModel {
  std::string bytes;                    // of saved_model.pb, or saved_model.pbtxt; empty when there are problems
  std::vector<std::string> problems;    // every operation that TensorFlow cannot express, with its reason and places
  std::vector<SavedModelAsset> assets;  // that the graph reads
  NamedTensors variables = {};          // that it restores from variables/variables; none where they are constants
};

// One MetaGraph with the tag "serve"; the weights are named after their variables, as constants in the graph or as
// variables that a loader restores from a checkpoint. Layouts are TensorFlow's: a convolution's filter is [height,
// width, in, out]. Inputs are placeholders named after those of the receiver, as far as TensorFlow allows their
// letters; the signatures have the names as they are. Tables of words are filled by saved_model_main_op when a server
// loads the model. The same graph gives the same bytes.
SavedModel saved_model_bytes(const ServingGraph& serving, const SavedModelOptions& options = {});

// A MetaGraph of a tag of its own.
struct TaggedGraph {
  std::string tag;  // "serve" or "eval"
  ServingGraph graph;
};

// The same with a MetaGraph for each, which share the variables: several have variables unless constants are asked for.
SavedModel saved_model_bytes(const std::vector<TaggedGraph>& graphs, const SavedModelOptions& options = {});

}  // namespace belfry
