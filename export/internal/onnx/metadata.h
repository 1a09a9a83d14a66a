// What an ONNX model says about itself besides its graph.
#pragma once

#include <string>
#include <vector>

#include "export/graph/graph.h"
#include "export/torchscript_writer.h"

namespace belfry::internal::onnx {

// See onnx_bytes. outputs[s][i] is the name in the model of output i of signature s.
std::string signatures_json(const Graph& graph, const std::vector<TracedSignature>& signatures,
                            const std::vector<std::vector<std::string>>& outputs);

}  // namespace belfry::internal::onnx
