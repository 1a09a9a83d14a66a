#include "traced_models.h"

#include <algorithm>

namespace belfry::testing {
namespace {

std::string variable_name(const std::string& scope, std::string path) {
  std::replace(path.begin(), path.end(), '.', '/');
  return scope + "/" + path;
}

struct WideAndDeep : torch::nn::Module {
  torch::nn::Embedding embedding{register_module("embedding", torch::nn::Embedding(10, 4))};
  torch::nn::Linear hidden{register_module("hidden", torch::nn::Linear(9, 8))};
  torch::nn::Linear logits{register_module("logits", torch::nn::Linear(8, 3))};
  torch::nn::Dropout dropout{register_module("dropout", torch::nn::Dropout(0.5))};

  TensorDict forward(const Features& features) {
    const std::vector<at::Tensor> parts{features["dense"], embedding(features["ids"]),
                                        features["flag"].to(torch::kFloat)};
    const auto out = logits(dropout(torch::relu(hidden(torch::cat(parts, 1)))));
    return {{"logits", out}, {"probabilities", out.softmax(1)}};
  }
};

}  // namespace

NamedTensors named_tensors(const std::string& scope, const torch::nn::Module& module) {
  NamedTensors tensors;
  for (const auto& item : module.named_parameters())
    tensors.emplace_back(variable_name(scope, item.key()), item.value());
  for (const auto& item : module.named_buffers()) tensors.emplace_back(variable_name(scope, item.key()), item.value());
  return tensors;
}

TraceRequest request_of(const std::function<at::Tensor(const at::Tensor&)>& function, TensorSpec x,
                        NamedTensors variables) {
  return {[function](const Features& features) {
            return TensorDict{{"y", function(features["x"])}};
          },
          ServingInputReceiver(Specs{{"x", std::move(x)}}), std::move(variables)};
}

TraceRequest attention_request() {
  torch::nn::MultiheadAttention attention(torch::nn::MultiheadAttentionOptions(8, 2));
  attention->eval();
  const auto function = [attention](const at::Tensor& x) mutable {
    const auto sequence = x.transpose(0, 1);
    return std::get<0>(attention->forward(sequence, sequence, sequence)).transpose(0, 1);
  };
  return request_of(function, {.shape = {-1, 5, 8}}, named_tensors("attention", *attention));
}

TraceRequest wide_and_deep_request() {
  auto net = std::make_shared<WideAndDeep>();
  net->eval();
  const ServingInputReceiver receiver(Specs{{"dense", {.shape = {-1, 3}}},
                                            {"ids", {.dtype = at::kLong, .shape = {-1}, .high = 10}},
                                            {"flag", {.dtype = at::kBool, .shape = {-1, 2}}}});
  return {[net](const Features& features) { return net->forward(features); }, receiver, named_tensors("net", *net)};
}

}  // namespace belfry::testing
