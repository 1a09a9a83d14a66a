// What a strategy owns, and how it takes a step.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "distribute/internal/variable_state.h"
#include "distribute/replica_set.h"
#include "distribute/step_finisher.h"
#include "distribute/variable_store.h"

namespace belfry {

class Strategy;

namespace internal {

class StrategyState {
 public:
  // `announcement` goes to the log when replicas are first asked for, once in a process.
  StrategyState(std::string announcement, uint64_t seed, std::vector<LogicalDevice> devices,
                const LogicalDevice& parameter_device);

  VariableStore& store() { return store_; }
  // With their devices and threads.
  ReplicaSet& replicas();

  bool is_running() const { return running_; }
  // The variable of that name, which the first call makes. From any replica, or while none runs.
  std::shared_ptr<VariableState> variable(Strategy& strategy, const std::string& name,
                                          const std::function<at::Tensor()>& initial, const VariableOptions& options);

  // work(i) as replica i of one step of `strategy`, and the commit of what it left. See Strategy::run.
  void run(Strategy& strategy, const std::function<void(size_t)>& work);
  // The same on the first replicas, one for each of `steps`, which the caller commits.
  void run_steps(Strategy& strategy, const std::vector<StepContext*>& steps, const std::function<void(size_t)>& work);
  // How many take part in the step that runs.
  int active_replicas() const { return active_replicas_; }

 private:
  using Steps = std::vector<std::unique_ptr<StepContext>>;

  Steps make_steps();
  void run_replicas(Strategy& strategy, const std::vector<StepContext*>& steps,
                    const std::function<void(size_t)>& work);
  StepFinisher& finisher(MakeStepFinisher make);
  void commit(const Steps& steps);
  void end_variables();

  std::string announcement_;
  const std::vector<LogicalDevice> devices_;
  VariableStore store_;
  ReplicaSet replicas_;
  std::mutex mutex_;  // of the next two: replicas run at the same time
  std::map<MakeStepFinisher, std::unique_ptr<StepFinisher>> finishers_;
  std::map<std::string, std::shared_ptr<VariableState>> variables_;
  std::atomic<bool> running_{false};
  int active_replicas_ = 0;
  bool broken_ = false;
  // Runs since the global step moved: each draws its own random numbers, and a resumed program draws the same again.
  int64_t runs_at_step_ = 0;
  int64_t last_step_ = 0;
};

}  // namespace internal
}  // namespace belfry
