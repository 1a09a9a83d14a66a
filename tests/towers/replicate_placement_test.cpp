#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/file_system.h"
#include "estimator/estimator.h"
#include "optimizers/momentum.h"
#include "tests/support/temporary_directory.h"
#include "tests/testing.h"
#include "tests/towers/abs_model.h"
#include "towers/replicate_model_fn.h"

namespace belfry {
namespace {

using testing::abs_loss;
using testing::abs_model;
using testing::column;
using testing::scalar_variable;
using testing::TowerRunner;
using testing::towers;

TEST_CASE("replicate_model_fn: device names may come in any form and several times", "[towers][replicate][R4]") {
  TowerRunner runner(
      replicate_model_fn(abs_model, {.loss_reduction = LossReduction::kSum, .devices = {"/CPU:0", "cpu:0", "cpu"}}));
  CHECK(runner.train_and_discard(column({1, 2, 3}), column({1, 2, 3})).tower_losses.size() == 3);
}

TEST_CASE("replicate_model_fn: every tower sees its index, its rows and the same variables",
          "[towers][replicate][R2][R9]") {
  std::mutex mutex;
  std::map<int, std::vector<double>> seen;
  std::set<std::thread::id> threads;
  const auto model = [&](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    {
      const std::lock_guard lock(mutex);
      const at::Tensor x = features.tensor().contiguous();
      seen[ctx.tower_index()] = {x.const_data_ptr<double>(), x.const_data_ptr<double>() + x.numel()};
      threads.insert(std::this_thread::get_id());
    }
    return abs_model(features, labels, mode, ctx);
  };
  TowerRunner runner(towers(model, 3));
  runner.train(column({1, 2, 3, 4, 5}), column({1, 2, 3, 4, 5}));
  CHECK(seen == std::map<int, std::vector<double>>{{0, {1, 2}}, {1, {3, 4}}, {2, {5}}});
  CHECK(threads.size() == 3);
  // The names say nothing of towers.
  CHECK(runner.store().variables(VariableKind::kParameter).size() == 1);
}

TEST_CASE("replicate_model_fn: checkpoints of any number of towers are interchangeable", "[towers][replicate][R9]") {
  const testing::TemporaryDirectory directory;
  const RunConfig config{.model_dir = directory.path(), .save_summary_steps = 0, .log_step_count_steps = 0};
  const auto input = [] { return Dataset::from_tensors(column({1, 2}), column({1, 2})).batch(2).repeat(); };
  double expected = 10;
  for (const int count : {3, 1, 2}) {
    Estimator estimator(towers(abs_model, count, LossReduction::kSum), config);
    estimator.train(input, {.steps = 1});
    expected -= 3;
    CHECK(estimator.get_variable_value("c").item<double>() == expected);
  }
}

TEST_CASE("replicate_model_fn: checkpoints are the same, byte for byte, however variables are placed",
          "[towers][replicate][R5][R9]") {
  const testing::TemporaryDirectory central;
  const testing::TemporaryDirectory round;
  const auto model = [](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
    at::Tensor sum = at::zeros({}, at::kDouble);
    for (const char* name : {"a", "b", "c", "d"}) sum = sum + scalar_variable(ctx, name, 2.5);
    const at::Tensor loss = abs_loss(features, labels, sum);
    return EstimatorSpec::train(loss,
                                TowerOptimizer(Momentum({.learning_rate = 0.1, .momentum = 0.9})).minimize(loss, ctx));
  };
  const auto train = [&](VariablePlacement placement, const std::string& model_dir) {
    Estimator estimator(
        replicate_model_fn(model, {.devices = {"cpu:0", "cpu:1", "cpu:3"}, .variable_placement = placement}),
        {.model_dir = model_dir, .random_seed = 5, .save_summary_steps = 0, .log_step_count_steps = 0});
    estimator.train(
        [] {
          return Dataset::from_tensors(column({1, 2, 4}), column({1, 0, 2})).batch(3).repeat();
        },
        {.steps = 4});
  };
  train(VariablePlacement::kCentral, central.path());
  train(VariablePlacement::kRoundRobin, round.path());
  for (const char* file : {"model.ckpt-4.index", "model.ckpt-4.data-00000-of-00001"}) {
    CAPTURE(file);
    const std::string bytes = read_file(posix_file_system(), central.file(file));
    CHECK_FALSE(bytes.empty());
    CHECK(bytes == read_file(posix_file_system(), round.file(file)));
  }
  // Either goes on from the other's.
  train(VariablePlacement::kCentral, round.path());
  train(VariablePlacement::kRoundRobin, central.path());
  CHECK(read_file(posix_file_system(), central.file("model.ckpt-8.data-00000-of-00001")) ==
        read_file(posix_file_system(), round.file("model.ckpt-8.data-00000-of-00001")));
}

// What each tower sees of its device and of its variable's memory.
struct SeenTowers {
  ModelFn model() {
    return [this](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
      const at::Tensor c = scalar_variable(ctx, "c", 10);
      const std::lock_guard lock(mutex);
      devices.insert_or_assign(ctx.tower_index(), ctx.replica().device());
      memory[ctx.tower_index()] = c.const_data_ptr();
      return abs_model(features, labels, mode, ctx);
    };
  }
  std::mutex mutex;
  std::map<int, at::Device> devices;
  std::map<int, const void*> memory;
};

TEST_CASE("replicate_model_fn: without devices there is a tower for each GPU, or one on the CPU",
          "[towers][replicate][R4]") {
  SeenTowers seen;
  TowerRunner runner(replicate_model_fn(seen.model(), {.loss_reduction = LossReduction::kSum, .devices = {}}));
  const std::vector<std::string> names = default_devices();
  const auto rows = static_cast<int64_t>(names.size());
  const at::Tensor ones = at::ones({rows, 1}, at::kDouble);
  CHECK(runner.train(ones, ones) == 9.0 * static_cast<double>(rows));
  REQUIRE(seen.devices.size() == names.size());
  for (const auto& [tower, device] : seen.devices) {
    CHECK(device == parse_device(names[static_cast<size_t>(tower)]).device);
  }
  if (!at::globalContext().hasCUDA()) {
    CHECK(seen.devices.size() == 1);
    CHECK(seen.devices.begin()->second == at::Device(at::kCPU));
  }
}

TEST_CASE("replicate_model_fn: variables are on the lone device, and on the CPU beside several",
          "[towers][replicate][R5][R6]") {
  const std::string lone = default_devices().front();  // a GPU where there is one
  for (const int count : {1, 2}) {
    SeenTowers seen;
    const std::vector<std::string> devices(static_cast<size_t>(count), lone);
    TowerRunner runner(replicate_model_fn(seen.model(), {.loss_reduction = LossReduction::kSum, .devices = devices}));
    runner.train(column({1, 2}), column({1, 2}));
    const at::Device of_towers = parse_device(lone).device;
    CHECK(runner.value("c").device() == (count == 1 ? of_towers : at::Device(at::kCPU)));
    CHECK(runner.store().device() == runner.value("c").device());
    REQUIRE(seen.devices.size() == static_cast<size_t>(count));
    for (const auto& [tower, device] : seen.devices) CHECK(device == of_towers);
    CHECK(runner.number("c") == 7);
  }
}

TEST_CASE("replicate_model_fn: variables are round-robined over the devices", "[towers][replicate][R5]") {
  const auto model = [](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
    at::Tensor sum = at::zeros({}, at::kDouble);
    for (const char* name : {"a", "b", "c", "d"}) sum = sum + scalar_variable(ctx, name, 2.5);
    const at::Tensor loss = abs_loss(features, labels, sum);
    const TowerOptimizer optimizer(Momentum({.learning_rate = 1.0, .momentum = 0.9}));
    return EstimatorSpec::train(loss, optimizer.minimize(loss, ctx));
  };
  const std::vector<std::string> devices{"cpu:0", "cpu:1", "cpu:3"};
  TowerRunner round(replicate_model_fn(model, {.loss_reduction = LossReduction::kSum,
                                               .devices = devices,
                                               .variable_placement = VariablePlacement::kRoundRobin}));
  TowerRunner central(replicate_model_fn(model, {.loss_reduction = LossReduction::kSum, .devices = devices}));
  for (int step = 0; step < 2; ++step) {
    const at::Tensor x = column({1, 2, 3});
    CHECK(round.train(x, x) == central.train(x, x));
  }
  const std::map<std::string, std::string> places{{"a", "cpu:0"}, {"b", "cpu:1"}, {"c", "cpu:3"}, {"d", "cpu:0"}};
  for (const auto& [name, place] : places) {
    CAPTURE(name);
    CHECK(round.store().find(name)->device_name() == place);
    CHECK(round.store().find("training/Momentum/" + name + "/momentum")->device_name() == place);
    CHECK(central.store().find(name)->device_name() == "cpu:0");
    CHECK(round.number(name) == central.number(name));
  }
}

TEST_CASE("replicate_model_fn: towers share one variable of one name, without a prefix", "[towers][replicate][R9]") {
  SeenTowers seen;
  TowerRunner runner(towers(seen.model(), 3, LossReduction::kSum));
  for (int step = 0; step < 2; ++step) runner.train(column({1, 2, 3}), column({1, 2, 3}));
  REQUIRE(seen.memory.size() == 3);
  for (const auto& [tower, address] : seen.memory) CHECK(address == runner.value("c").const_data_ptr());
  std::vector<std::string> names;
  for (const Variable* variable : runner.store().variables(VariableKind::kParameter)) names.push_back(variable->name());
  CHECK(names == std::vector<std::string>{"c"});
}

}  // namespace
}  // namespace belfry
