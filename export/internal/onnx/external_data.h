// Weights in a file of their own.
#pragma once

#include <cstdint>
#include <string>

#include "belfry/core/onnx.pb.h"

namespace belfry::internal::onnx {

// Bytes of all initializers.
int64_t initializer_bytes(const proto::onnx::GraphProto& graph);

// Takes the bytes of the large initializers out of the graph, which then names `location` with their places, and
// returns the file: each begins at a multiple of 4096.
std::string move_out_initializers(proto::onnx::GraphProto& graph, const std::string& location);

}  // namespace belfry::internal::onnx
