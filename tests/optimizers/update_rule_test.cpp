#include "optimizers/update_rule.h"

#include "core/error.h"
#include "tests/optimizers/training.h"
#include "tests/testing.h"

using belfry::Optimizer;
using belfry::StepContext;
using belfry::UpdateArguments;
using belfry::UpdateGrain;
using belfry::UpdateLists;
using belfry::testing::Training;

namespace {

// Steps of length learning_rate along the gradient of each row, or of the whole variable; a slot counts them.
class NormalizedRule : public belfry::UpdateRule {
 public:
  explicit NormalizedRule(UpdateGrain grain) : grain_(grain) {}
  std::string name() const override { return "Normalized"; }
  UpdateGrain grain() const override { return grain_; }
  std::vector<belfry::SlotSpec> slots() const override { return {{"steps", 1}}; }
  bool counts_updates() const override { return true; }

  void apply(const UpdateArguments& arguments, UpdateLists& lists) const override {
    for (size_t i = 0; i < lists.parameters.size(); ++i) {
      const at::Tensor& gradient = lists.gradients[i];
      at::Tensor norm = gradient.norm();
      if (grain_ == UpdateGrain::kRow && gradient.dim() > 1) norm = gradient.flatten(1).norm(2, 1).unsqueeze(1);
      lists.parameters[i].sub_(arguments.learning_rate * gradient / norm);
      lists.slots[0][i].add_(static_cast<double>(arguments.count));
    }
  }

 private:
  UpdateGrain grain_;
};

belfry::TensorDict train(UpdateGrain grain, int towers) {
  const Optimizer optimizer(std::make_shared<NormalizedRule>(grain), 0.5);
  Training training(towers);
  for (int step = 0; step < 2; ++step) {
    training.step([&](StepContext& context) {
      const at::Tensor w = Training::variable(context, "w", at::arange(1, 36, at::kDouble).view({7, 5}));
      const at::Tensor v = Training::variable(context, "v", at::arange(1, 5, at::kDouble).view({2, 2}));
      const double share = 1.0 / context.tower_count();
      optimizer.minimize((w.square().sum() + v.pow(3).sum()) * share, context);
    });
  }
  return training.store.snapshot();
}

}  // namespace

TEST_CASE("a user's rule is cut along its grain", "[update_rule]") {
  for (const UpdateGrain grain : {UpdateGrain::kRow, UpdateGrain::kVariable}) {
    const belfry::TensorDict alone = train(grain, 1);
    CHECK(alone["training/Normalized/w/steps"][6][4].item<double>() == 1 + 1 + 2);
    for (int towers = 2; towers <= 5; ++towers) {
      const belfry::TensorDict shared = train(grain, towers);
      for (const auto& [name, value] : alone) {
        INFO(name << " " << towers << " towers");
        CHECK(at::allclose(value.tensor(), shared[name], 1e-14, 1e-14));
      }
    }
  }
}

TEST_CASE("a rule that needs rows takes row-sparse gradients as rows", "[update_rule]") {
  const auto train_sparse = [](UpdateGrain grain) {
    Training training;
    training.step([&](StepContext& context) {
      Training::variable(context, "w", at::zeros({3, 2}));
      const at::Tensor gradient = at::sparse_coo_tensor(at::tensor({0, 2}, at::kLong).unsqueeze(0),
                                                        torch::tensor({{3.0f, 4.0f}, {0.0f, 12.0f}}), {3, 2});
      Optimizer(std::make_shared<NormalizedRule>(grain), 1)
          .apply_gradients({{gradient, context.store().find("w")}}, context);
    });
    return training.store.snapshot();
  };
  const auto by_row = train_sparse(UpdateGrain::kRow);
  CHECK(at::allclose(by_row["w"], torch::tensor({{-0.6f, -0.8f}, {0.0f, 0.0f}, {0.0f, -1.0f}})));
  CHECK(by_row["training/Normalized/w/steps"][1][0].item<float>() == 1);
  const auto whole = train_sparse(UpdateGrain::kVariable);
  CHECK(at::allclose(whole["w"] * 13, torch::tensor({{-3.0f, -4.0f}, {0.0f, 0.0f}, {0.0f, -12.0f}})));
  CHECK(whole["training/Normalized/w/steps"][1][0].item<float>() == 2);
}
