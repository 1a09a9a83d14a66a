#include "export/internal/graph_module.h"

namespace belfry::internal {

void add_tensor(torch::jit::Module& module, const std::string& attribute, const at::Tensor& tensor) {
  if (tensor.is_floating_point() || tensor.is_complex()) {
    module.register_parameter(attribute, tensor, /*is_buffer=*/false);
  } else {
    module.register_buffer(attribute, tensor);
  }
}

void bind(torch::jit::Graph& graph, const torch::jit::Module& module) {
  graph.inputs()[0]->setType(module._ivalue()->type());
}

}  // namespace belfry::internal
