#include "optimizers/internal/reduce_flat.h"

#include <ATen/ATen.h>

#include <memory>

#include "core/error.h"
#include "distribute/internal/nccl_reduce.h"
#include "tests/support/check_fails.h"
#include "tests/testing.h"

using belfry::Variable;
using belfry::VariableKind;
using belfry::internal::reduce_flat;
using belfry::internal::Target;

namespace {

// Variables of several dtypes and layouts, and their gradients in two towers.
struct Model {
  Model() {
    add(at::zeros({3, 5}), at::arange(15.0).view({5, 3}).t());
    add(at::zeros({2, 3, 2, 2}).contiguous(at::MemoryFormat::ChannelsLast), at::arange(24.0).view({2, 3, 2, 2}));
    add(at::zeros({7}, at::kDouble), at::full({1}, 0.5, at::kDouble).expand({7}));
    add(at::zeros({}), at::full({}, 3.0));
    add(at::zeros({0, 4}), at::zeros({0, 4}));
  }
  void add(const at::Tensor& value, const at::Tensor& gradient) {
    variables.push_back(
        std::make_unique<Variable>("v" + std::to_string(variables.size()), value, VariableKind::kParameter));
    const at::Tensor typed = gradient.to(value.scalar_type());
    targets.push_back({variables.back().get(), {typed, typed * 10}});
    sums.push_back(typed * 11);
  }
  std::vector<Target*> all() {
    std::vector<Target*> pointers;
    for (Target& target : targets) pointers.push_back(&target);
    return pointers;
  }

  std::vector<std::unique_ptr<Variable>> variables;
  std::vector<Target> targets;
  std::vector<at::Tensor> sums;
};

}  // namespace

TEST_CASE("gradients of many variables are added up in one call a dtype, and come back in the variables' layouts",
          "[reduce]") {
  Model model;
  std::vector<at::ScalarType> calls;
  reduce_flat(model.all(), [&](std::vector<at::Tensor>& parts, size_t root) {
    REQUIRE(parts.size() == 2);
    CHECK(root == 0);
    for (const at::Tensor& part : parts) CHECK(part.is_contiguous());
    calls.push_back(parts[0].scalar_type());
    parts[root].add_(parts[1]);
  });
  CHECK(calls == std::vector<at::ScalarType>{at::kFloat, at::kDouble});
  for (size_t i = 0; i < model.targets.size(); ++i) {
    INFO(model.variables[i]->name());
    REQUIRE(model.targets[i].gradients.size() == 1);
    const at::Tensor& sum = model.targets[i].gradients[0];
    CHECK(at::equal(sum, model.sums[i]));
    CHECK(sum.strides() == model.variables[i]->value().strides());
  }
}

TEST_CASE("without GPUs nothing is reduced at once, and there is nothing to tell", "[reduce]") {
  Model model;
  CHECK(belfry::internal::reduce_over_gpus(model.targets, 2).empty());
  for (const Target& target : model.targets) CHECK(target.gradients.size() == 2);
}

TEST_CASE("a sum over GPUs that this build or machine cannot make is Belfry's error", "[reduce]") {
  std::vector<at::Tensor> parts{at::ones({2}), at::ones({2})};
  const auto kind = belfry::internal::has_nccl() ? belfry::ErrorKind::kInternal : belfry::ErrorKind::kUnimplemented;
  CHECK_FAILS(belfry::internal::nccl_reduce(parts, 0), kind, "2 GPUs");
}
