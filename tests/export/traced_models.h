// Models to trace, and the requests that trace them.
#pragma once

#include <torch/torch.h>

#include <functional>
#include <string>
#include <vector>

#include "export/trace.h"

namespace belfry::testing {

using Specs = std::vector<std::pair<std::string, TensorSpec>>;

// Parameters and buffers by TensorFlow-like names, below `scope`.
NamedTensors named_tensors(const std::string& scope, const torch::nn::Module& module);

// A function of the tensor "x" alone, whose result is "y".
TraceRequest request_of(const std::function<at::Tensor(const at::Tensor&)>& function,
                        TensorSpec x = {.shape = {-1, 4, 6}}, NamedTensors variables = {});

// The module's forward, in eval mode, as a function of "x".
template <class Module>
TraceRequest request_of_module(Module module, TensorSpec x) {
  module->eval();
  return request_of([module](const at::Tensor& input) mutable { return module->forward(input); }, std::move(x),
                    named_tensors("net", *module));
}

// A TransformerEncoder layer's worth of attention over [batch, 5, 8].
TraceRequest attention_request();
// Features "dense" [batch, 3], "ids" [batch] of 10 and "flag" bool [batch, 2]; outputs "logits" and "probabilities".
TraceRequest wide_and_deep_request();

}  // namespace belfry::testing
