// Modules adopted by a replica.
#pragma once

#include <torch/torch.h>

#include <functional>
#include <memory>
#include <string>

#include "distribute/replica.h"

namespace belfry::testing {

inline const LogicalDevice kCpu = parse_device("cpu:0");

template <class Impl>
std::shared_ptr<Impl> adopt(Replica& replica, const std::string& name,
                            const std::function<std::shared_ptr<Impl>()>& make, bool training = true) {
  return std::static_pointer_cast<Impl>(replica.module(name, typeid(Impl), make, training));
}

inline std::shared_ptr<torch::nn::LinearImpl> linear(Replica& replica, const std::string& name, int64_t in = 3) {
  return adopt<torch::nn::LinearImpl>(replica, name, [in] { return std::make_shared<torch::nn::LinearImpl>(in, 2); });
}

// A module whose constructor is a function.
struct Made : torch::nn::Module {
  explicit Made(const std::function<void(Made&)>& construct) { construct(*this); }
  at::Tensor first, second;
  torch::nn::Linear a{nullptr}, b{nullptr};
};

}  // namespace belfry::testing
