// Trains the linear model in MODEL_DIR until it is killed: what training_lock_process_test locks a directory with.
#include <chrono>
#include <iostream>
#include <thread>

#include "core/log.h"
#include "tests/estimator/linear_model.h"

using namespace belfry;

namespace {

struct Slow : SessionRunHook {
  void after_run(RunContext&) override { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: " << argv[0] << " MODEL_DIR\n";
    return 2;
  }
  set_log_level(LogLevel::kWarning);
  try {
    RunConfig config = testing::quiet(argv[1]);
    config.save_checkpoints_steps = 20;
    Estimator(testing::linear_model_fn, config).train(testing::line(), {.hooks = {std::make_shared<Slow>()}});
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
