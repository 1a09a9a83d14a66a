// One step of a recurrent layer, in TensorFlow's nodes.
#pragma once

#include "export/graph/graph.h"
#include "export/internal/tensorflow/graph_def_builder.h"

namespace belfry::internal {

struct RecurrentState {
  TfTensor hidden;
  TfTensor cell = {};  // of an LSTM
};

// What a step reads beside its input and state.
struct RecurrentWeights {
  TfTensor of_state;   // [gates, n]
  TfTensor bias = {};  // without a name: none
  TfTensor axis;       // 1, an int32 scalar
};

// [..., features] times [gates, features], transposed; `batches`: x has three axes.
TfTensor recurrent_product(GraphDefBuilder& out, const TfTensor& x, const TfTensor& weight, bool batches);

// The state behind a step of kLstm, kGru or kRnn; `of_input`, [batch, gates], is the input's part of the gates. The
// nodes read nothing but the arguments.
RecurrentState next_state(GraphDefBuilder& out, const GraphNode& node, const RecurrentWeights& weights,
                          const TfTensor& of_input, const RecurrentState& state);

}  // namespace belfry::internal
