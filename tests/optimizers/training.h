// A store with towers, for tests that train without an Estimator. Needs tests/testing.h before it.
#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "distribute/replica_set.h"
#include "optimizers/merge_updates.h"
#include "optimizers/optimizer.h"
#include "optimizers/update_committer.h"

namespace belfry::testing {

class Training {
 public:
  explicit Training(int towers = 1) : store(1), replicas(store), committer(store) {
    std::vector<belfry::LogicalDevice> devices;
    for (int i = 0; i < towers; ++i) devices.push_back(belfry::parse_device("cpu:" + std::to_string(i)));
    replicas.use(devices);
  }

  // One step: the model_fn in every tower, the backward passes, and the commit.
  void step(const std::function<void(belfry::StepContext&)>& model_fn, double contribution = 1,
            bool combine_gradients = false) {
    const int count = replicas.size();
    std::vector<std::unique_ptr<belfry::StepContext>> contexts;
    std::vector<const belfry::StepContext*> towers;
    for (int i = 0; i < count; ++i) {
      contexts.push_back(std::make_unique<belfry::StepContext>(
          replicas.replica(i), belfry::StepContext::Options{.replica_count = count,
                                                            .rendezvous = &replicas.group().rendezvous(),
                                                            .loss_policy = {.contribution = contribution},
                                                            .training = true,
                                                            .combine_gradients = combine_gradients}));
      towers.push_back(contexts.back().get());
    }
    replicas.begin_step();
    replicas.group().run(count, [&](int i) {
      model_fn(*contexts[static_cast<size_t>(i)]);
      belfry::run_backward(*contexts[static_cast<size_t>(i)]);
    });
    const belfry::TrainOp train_op = belfry::merge_tower_updates(towers);
    committer.prepare(train_op);
    committer.commit(train_op, &replicas.group(), count);
    store.set_global_step(store.global_step() + 1);
    replicas.bump_leaves();
  }

  // The step's tensor for a variable that starts as `initial`.
  static at::Tensor variable(belfry::StepContext& context, const std::string& name, const at::Tensor& initial) {
    return context.replica().variable(
        name, [&] { return initial; }, true);
  }

  at::Tensor value(const std::string& name) const { return store.find(name)->value(); }

  belfry::VariableStore store;
  belfry::ReplicaSet replicas;
  belfry::UpdateCommitter committer;
};

}  // namespace belfry::testing
