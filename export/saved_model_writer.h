// Writes a graph as TensorFlow's SavedModel, which TensorFlow, its command line and TensorFlow Serving run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "serving_graph.h"

namespace belfry {

// A file of the folder assets/.
struct SavedModelAsset {
  std::string name;
  std::string bytes;
};

struct SavedModel {
  std::string bytes;                    // of saved_model.pb; empty when there are problems
  std::vector<std::string> problems;    // every operation that TensorFlow cannot express, with its reason and places
  std::vector<SavedModelAsset> assets;  // that the graph reads
};

struct SavedModelOptions {
  // Protobuf holds 2 GB in a message; a graph whose constants need more is a problem.
  int64_t constant_bytes_limit = 1'900'000'000;
};

// One MetaGraph with the tag "serve" and the weights as constants, named after their variables. Inputs are placeholders
// named after those of the receiver, as far as TensorFlow allows their letters; the signatures have the names as they
// are. Tables of words are filled by saved_model_main_op when a server loads the model. The same graph gives the same
// bytes.
SavedModel saved_model_bytes(const ServingGraph& serving, const SavedModelOptions& options = {});

}  // namespace belfry
