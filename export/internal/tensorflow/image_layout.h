// TensorFlow's kernels on the CPU want the channels last.
#pragma once

#include "export/internal/tensorflow/graph_def_builder.h"

namespace belfry::internal {

// [batch, channels, ...] to [batch, ..., channels], and back.
TfTensor channels_last(GraphDefBuilder& out, const TfTensor& x, int64_t rank);
TfTensor channels_first(GraphDefBuilder& out, const TfTensor& x, int64_t rank);

// Numbers of the middle axes between those of the batch and of the channels.
std::vector<int64_t> framed(int64_t batch, const std::vector<int64_t>& middle, int64_t channels);

}  // namespace belfry::internal
