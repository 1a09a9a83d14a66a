// Recurrent layers: a node of the graph for each layer and direction.
#include "export/internal/import/import_table.h"

namespace belfry::internal {
namespace {

struct States {
  std::vector<GraphValue> hidden;
  std::vector<GraphValue> cell;  // of an LSTM
};

class Layers {
 public:
  Layers(Call& call, Operation operation, std::string nonlinearity)
      : call_(call),
        graph_(call.graph()),
        operation_(operation),
        nonlinearity_(std::move(nonlinearity)),
        first_hidden_(call.item("hx").get<Item::List>() ? call.tensors("hx") : std::vector{call.tensor("hx")}),
        parameters_(call.tensors("params")),
        biases_(call.flag("has_biases")) {
    if (call.flag("train")) refuse_call("it is in training mode");
    const size_t blocks = call.integer("num_layers") * directions();
    if (parameters_.size() != blocks * per_block()) refuse_call("it projects its outputs (proj_size)");
  }

  // [time, batch, features] through all layers.
  GraphValue run(GraphValue x) {
    for (int64_t layer = 0; layer < call_.integer("num_layers"); ++layer) {
      std::vector<GraphValue> outputs;
      for (size_t direction = 0; direction < directions(); ++direction) {
        outputs.push_back(run_block(x, layer * directions() + direction, direction == 1));
      }
      x = graph_.concatenate(outputs, 2);
    }
    return x;
  }

  const States& last() const { return last_; }

 private:
  size_t directions() const { return call_.flag("bidirectional") ? 2 : 1; }
  size_t per_block() const { return biases_ ? 4 : 2; }

  GraphValue run_block(GraphValue x, size_t block, bool reverse) {
    std::vector<GraphValue> inputs{x};
    for (const GraphValue state : first_hidden_) {
      inputs.push_back(graph_.select_index(state, 0, static_cast<int64_t>(block)));
    }
    const auto begin = parameters_.begin() + static_cast<std::ptrdiff_t>(block * per_block());
    inputs.insert(inputs.end(), begin, begin + static_cast<std::ptrdiff_t>(per_block()));
    const GraphType& input = graph_.type(x);
    const int64_t size = graph_.type(parameters_[block * per_block() + 1]).shape[1];
    std::vector<GraphType> types{{input.dtype, {input.shape[0], input.shape[1], size}}};
    if (operation_ == Operation::kLstm) types.push_back({input.dtype, {input.shape[1], size}});
    GraphAttributes attributes{{"reverse", reverse}};
    if (operation_ == Operation::kRnn) attributes = {{"reverse", reverse}, {"nonlinearity", nonlinearity_}};
    const auto outputs = graph_.node(operation_, inputs, attributes, types);
    last_.hidden.push_back(graph_.select_index(outputs[0], 0, reverse ? 0 : -1));
    if (outputs.size() > 1) last_.cell.push_back(outputs[1]);
    return outputs[0];
  }

  Call& call_;
  GraphBuilder& graph_;
  const Operation operation_;
  const std::string nonlinearity_;
  const std::vector<GraphValue> first_hidden_;
  const std::vector<GraphValue> parameters_;
  const bool biases_;
  States last_;
};

Item run_layers(Call& call, Operation operation, const std::string& nonlinearity = "") {
  if (call.has("batch_sizes")) refuse_call("it runs over packed sequences");
  GraphBuilder& graph = call.graph();
  GraphValue x = call.tensor("input");
  if (graph.rank(x) != 3) refuse_call("its operand has no batch");
  const bool batch_first = call.flag("batch_first");
  Layers layers(call, operation, nonlinearity);
  const GraphValue y = layers.run(batch_first ? graph.swap_axes(x, 0, 1) : x);
  std::vector<GraphValue> results{batch_first ? graph.swap_axes(y, 0, 1) : y, graph.stack(layers.last().hidden, 0)};
  if (!layers.last().cell.empty()) results.push_back(graph.stack(layers.last().cell, 0));
  return results;
}

Item lstm(Call& call) { return run_layers(call, Operation::kLstm); }
Item gru(Call& call) { return run_layers(call, Operation::kGru); }
Item rnn_tanh(Call& call) { return run_layers(call, Operation::kRnn, "tanh"); }
Item rnn_relu(Call& call) { return run_layers(call, Operation::kRnn, "relu"); }

// A cell is one step.
Item run_cell(Call& call, Operation operation, const std::string& nonlinearity = "") {
  GraphBuilder& graph = call.graph();
  const GraphValue x = call.tensor("input");
  const auto states =
      call.item("hx").get<Item::List>() ? call.tensors("hx") : std::vector<GraphValue>{call.tensor("hx")};
  std::vector<GraphValue> inputs{graph.unsqueeze(x, 0)};
  inputs.insert(inputs.end(), states.begin(), states.end());
  for (const char* name : {"w_ih", "w_hh", "b_ih", "b_hh"}) {
    if (call.has(name)) inputs.push_back(call.tensor(name));
  }
  const GraphType state = graph.type(states[0]);
  std::vector<GraphType> types{{state.dtype, {1, state.shape[0], state.shape[1]}}};
  if (operation == Operation::kLstm) types.push_back(state);
  GraphAttributes attributes{{"reverse", false}};
  if (operation == Operation::kRnn) attributes = {{"reverse", false}, {"nonlinearity", nonlinearity}};
  const auto outputs = graph.node(operation, inputs, attributes, types);
  const GraphValue hidden = graph.squeeze(outputs[0], {0});
  return outputs.size() == 1 ? Item(hidden) : Item(std::vector<GraphValue>{hidden, outputs[1]});
}

Item lstm_cell(Call& call) { return run_cell(call, Operation::kLstm); }
Item gru_cell(Call& call) { return run_cell(call, Operation::kGru); }
Item rnn_tanh_cell(Call& call) { return run_cell(call, Operation::kRnn, "tanh"); }
Item rnn_relu_cell(Call& call) { return run_cell(call, Operation::kRnn, "relu"); }

}  // namespace

void add_recurrent(ImportTable& table) {
  table.insert({{"lstm", lstm},
                {"gru", gru},
                {"rnn_tanh", rnn_tanh},
                {"rnn_relu", rnn_relu},
                {"lstm_cell", lstm_cell},
                {"gru_cell", gru_cell},
                {"rnn_tanh_cell", rnn_tanh_cell},
                {"rnn_relu_cell", rnn_relu_cell}});
}

}  // namespace belfry::internal
