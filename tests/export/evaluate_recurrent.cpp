#include "evaluate_operations.h"

#include <torch/torch.h>

#include <tuple>

#include "core/error.h"

namespace belfry::testing {
namespace {

at::Tensor next_state(const GraphNode& node, const at::Tensor& x, const at::Tensor& h,
                      const std::vector<at::Tensor>& weights) {
  const auto b_ih = optional_input(weights, 2);
  const auto b_hh = optional_input(weights, 3);
  if (node.operation == Operation::kGru) return at::gru_cell(x, h, weights[0], weights[1], b_ih, b_hh);
  return node.attributes.text("nonlinearity") == "relu" ? at::rnn_relu_cell(x, h, weights[0], weights[1], b_ih, b_hh)
                                                        : at::rnn_tanh_cell(x, h, weights[0], weights[1], b_ih, b_hh);
}

}  // namespace

std::vector<at::Tensor> evaluate_recurrent(const GraphNode& node, const std::vector<at::Tensor>& in) {
  const bool lstm = node.operation == Operation::kLstm;
  const std::vector<at::Tensor> weights(in.begin() + (lstm ? 3 : 2), in.end());
  at::Tensor h = in[1];
  at::Tensor c = lstm ? in[2] : at::Tensor();
  std::vector<at::Tensor> outputs(in[0].size(0));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const size_t step = node.attributes.flag("reverse") ? outputs.size() - 1 - i : i;
    const at::Tensor x = in[0].select(0, static_cast<int64_t>(step));
    if (lstm) {
      std::tie(h, c) =
          at::lstm_cell(x, {h, c}, weights[0], weights[1], optional_input(weights, 2), optional_input(weights, 3));
    } else {
      h = next_state(node, x, h, weights);
    }
    outputs[step] = h;
  }
  return lstm ? std::vector<at::Tensor>{at::stack(outputs), c} : std::vector<at::Tensor>{at::stack(outputs)};
}

}  // namespace belfry::testing
