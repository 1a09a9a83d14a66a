// How TensorFlow's strategies divide data: reference/distribute.json.
#include <ATen/ATen.h>

#include <functional>
#include <optional>
#include <utility>

#include "tests/distribute/distribute_json.h"
#include "tests/distribute/strategies.h"
#include "tests/support/check_fails.h"

namespace belfry {
namespace {

using testing::Json;
using testing::strategy_named;

Dataset range(int64_t count) { return Dataset::from_tensors(at::arange(count)); }

// [step][replica] -> the numbers of the first feature.
template <class Steps>
Json numbers_of(Steps& steps) {
  Json all = Json::array();
  for (const PerReplica<Batch>& step : steps) {
    Json replicas = Json::array();
    for (const Batch& batch : step) {
      const at::Tensor numbers = batch.features.begin()->second.tensor().to(at::kLong).contiguous();
      replicas.push_back(
          std::vector<int64_t>(numbers.const_data_ptr<int64_t>(), numbers.const_data_ptr<int64_t>() + numbers.numel()));
    }
    all.push_back(std::move(replicas));
  }
  return all;
}

// Of tensors {dtype, shape, data}: their data.
Json data_of(const Json& steps) {
  Json all = Json::array();
  for (const Json& step : steps) {
    Json replicas = Json::array();
    for (const Json& replica : step) replicas.push_back(replica.contains("data") ? replica.at("data") : replica);
    all.push_back(std::move(replicas));
  }
  return all;
}

TEST_CASE("global batches are cut as TensorFlow cuts them", "[strategy][reference][S8][S9][S12][S47][C4]") {
  const Json all = testing::reference("distribute");
  for (const Json& reference : all.at("split").at("cases")) {
    INFO(reference.dump());
    const auto strategy = strategy_named(reference.at("strategy"));
    const Dataset dataset =
        range(reference.at("elements"))
            .batch(reference.at("global_batch"), {.drop_remainder = reference.at("drop_remainder")});
    auto distributed = strategy->experimental_distribute_dataset(dataset);
    CHECK(numbers_of(distributed) == reference.at("result"));
    CHECK(numbers_of(distributed) == reference.at("result"));  // it can be gone through again
  }
}

Dataset times_two(const Dataset& dataset) {
  return dataset.map([](Batch batch) { return Batch{batch.features.tensor() * 2, {}}; });
}

TEST_CASE("batches of odd pipelines are cut as TensorFlow cuts them", "[strategy][reference][S8][S10][S15][S12][S9]") {
  const Json all = testing::reference("distribute");
  const auto two = strategy_named("mirrored_2");
  const auto three = strategy_named("mirrored_3");
  for (const Json& reference : all.at("split").at("special")) {
    const std::string name = reference.at("name");
    INFO(reference.dump());
    const auto check = [&](Strategy& strategy, const Dataset& dataset) {
      auto distributed = strategy.experimental_distribute_dataset(dataset);
      CHECK(numbers_of(distributed) == data_of(reference.at("result")));
    };
    if (name == "unbatched_dataset") {
      CHECK_FAILS(two->experimental_distribute_dataset(range(4)).iterate().next(), ErrorKind::kInvalidArgument,
                  "Call batch first");
    }
    if (name == "unbatched_vectors") check(*two, Dataset::from_tensors(at::arange(3) + at::arange(2).unsqueeze(1)));
    if (name == "map_after_batch") check(*two, times_two(range(6).batch(4)));
    if (name == "prefetch_after_batch") check(*two, range(6).batch(4).prefetch(2));
    if (name == "repeat_after_batch") check(*two, range(3).batch(2).repeat(2));
    if (name == "batch_after_repeat") check(*two, range(3).repeat(2).batch(2));
    if (!name.starts_with("policy_")) continue;
    const bool drop = std::string(reference.at("note")).ends_with("drop_remainder True");
    const AutoShardPolicy policy = name == "policy_OFF"    ? AutoShardPolicy::kOff
                                   : name == "policy_DATA" ? AutoShardPolicy::kData
                                                           : AutoShardPolicy::kAuto;
    check(*three,
          range(7).batch(4, {.drop_remainder = drop}).with_options({.distribute = {.auto_shard_policy = policy}}));
  }
}

// Vectors of these lengths, which go on counting.
Dataset counting(std::vector<int64_t> lengths) {
  return Dataset::from_generator([lengths] {
    return [lengths, i = size_t{0}, next = int64_t{0}]() mutable -> std::optional<Batch> {
      if (i == lengths.size()) return std::nullopt;
      const int64_t start = std::exchange(next, next + lengths[i]);
      return Batch{at::arange(start, start + lengths[i++]), {}};
    };
  });
}

void check_replicas(const PerReplica<Batch>& step, const std::function<at::Tensor(const Batch&)>& part,
                    const Json& expected) {
  REQUIRE(step.size() == expected.size());
  for (size_t i = 0; i < step.size(); ++i) testing::check_tensor(part(step[i]), expected[i]);
}

// The one special case of that name.
Json special_split(const std::string& name) {
  const Json all = testing::reference("distribute");
  for (const Json& reference : all.at("split").at("special")) {
    if (reference.at("name") == name) return reference;
  }
  fail(ErrorKind::kNotFound, name);
}

TEST_CASE("every tensor of a structure is cut alike, as TensorFlow cuts them", "[strategy][reference][S8][S12]") {
  const Json expected = special_split("nested_structure").at("result");
  const auto strategy = strategy_named("mirrored_2");
  const TensorDict features{{"a", at::arange(10, at::kFloat).reshape({5, 2})}, {"b", at::arange(5, at::kInt)}};
  const Dataset dataset = Dataset::from_tensors(features, 10 * at::arange(5, at::kInt)).batch(4);
  size_t steps = 0;
  auto distributed = strategy->experimental_distribute_dataset(dataset);
  for (const PerReplica<Batch>& step : distributed) {
    REQUIRE(steps < expected.size());
    const Json& reference = expected[steps++];
    for (const auto& [name, pieces] : reference[0].items()) {
      INFO(name);
      check_replicas(
          step, [name = name](const Batch& batch) { return batch.features[name]; }, pieces);
    }
    check_replicas(
        step, [](const Batch& batch) { return batch.labels.tensor(); }, reference[1]);
  }
  CHECK(steps == expected.size());
}

// Batch sizes are never known ahead here: what TensorFlow does where it cannot know them is the rule. There is no
// filter; one that keeps all is a map.
TEST_CASE("batches of unknown size are cut as TensorFlow cuts them", "[strategy][reference][S8][S9]") {
  const auto check = [](const std::string& name, const std::string& strategy_name, const Dataset& dataset) {
    const Json reference = special_split(name);
    INFO(reference.dump());
    const auto strategy = strategy_named(strategy_name);
    auto distributed = strategy->experimental_distribute_dataset(dataset);
    CHECK(numbers_of(distributed) == data_of(reference.at("result")));
  };
  check("flat_filter_unknown_batch", "mirrored_2", range(10).batch(4).map([](Batch batch) { return batch; }));
  check("generator_unknown_batch", "mirrored_3", counting({4, 4, 2}));
}

TEST_CASE("every replica takes the next batch of a function's data set", "[strategy][reference][S7][S36][C5]") {
  const Json all = testing::reference("distribute");
  for (const Json& reference : all.at("from_function").at("from_function")) {
    INFO(reference.dump());
    const std::string name = reference.at("strategy");
    const auto strategy = strategy_named(name);
    Json calls = Json::array();
    auto distributed = strategy->distribute_datasets_from_function([&](const InputContext& context) {
      calls.push_back({{"num_input_pipelines", context.num_input_pipelines},
                       {"input_pipeline_id", context.input_pipeline_id},
                       {"num_replicas_in_sync", context.num_replicas_in_sync}});
      return range(reference.at("elements")).batch(reference.at("per_replica_batch"));
    });
    CHECK(calls == reference.at("calls"));
    Json expected = reference.at("result");
    Json actual = numbers_of(distributed);
    // TensorFlow drops a step that lacks batches under central storage alone; here it is filled up everywhere.
    if (name.starts_with("central_") && actual.size() == expected.size() + 1) actual.erase(actual.size() - 1);
    CHECK(actual == expected);
  }
}

TEST_CASE("values are made for each replica", "[strategy][reference][S35]") {
  const Json all = testing::reference("distribute");
  for (const Json& reference : all.at("from_function").at("values_from_function")) {
    const auto strategy = strategy_named("mirrored_" + std::to_string(reference.at("replicas").get<int>()));
    const at::Tensor base = testing::tensor_of(reference.at("base"));
    const auto values = strategy->experimental_distribute_values_from_function([&](const ValueContext& context) {
      return base * (context.replica_id_in_sync_group + 1) + context.num_replicas_in_sync;
    });
    REQUIRE(values.size() == reference.at("result").size());
    for (size_t i = 0; i < values.size(); ++i) testing::check_tensor(values[i], reference.at("result")[i]);
  }
  const Json& defaults = all.at("from_function").at("value_context_defaults");
  CHECK(ValueContext().replica_id_in_sync_group == defaults.at("replica_id_in_sync_group"));
  CHECK(ValueContext().num_replicas_in_sync == defaults.at("num_replicas_in_sync"));
}

// All steps of an iterator of the older form.
std::vector<PerReplica<Batch>> steps_of(InputIterator iterator) {
  std::vector<PerReplica<Batch>> steps;
  iterator.initialize();
  try {
    while (true) steps.push_back(iterator.get_next());
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kOutOfRange);
  }
  return steps;
}

TEST_CASE("the older iterators give what TensorFlow's give", "[strategy][reference][S21][S22][S23][S52][S54]") {
  const Json all = testing::reference("distribute");
  const Json& v1 = all.at("v1");
  const auto strategy = strategy_named("mirrored_2");
  auto six = steps_of(strategy->make_dataset_iterator(range(6).batch(4)));
  CHECK(numbers_of(six) == v1.at("make_dataset_iterator_range6_batch4").at("result"));
  auto threes = steps_of(strategy->make_dataset_iterator(range(6).batch(3)));
  CHECK(numbers_of(threes) == v1.at("make_dataset_iterator_batch3_2_replicas").at("result"));
  Json contexts = Json::array();
  auto of_function = steps_of(strategy->make_input_fn_iterator([&](const InputContext& context) {
    contexts.push_back({context.num_input_pipelines, context.input_pipeline_id, context.num_replicas_in_sync});
    return range(8).batch(context.get_per_replica_batch_size(4));
  }));
  const Json& input_fn = v1.at("make_input_fn_iterator_range8_global4").at("result");
  CHECK(contexts == input_fn.at("contexts"));
  CHECK(numbers_of(of_function) == input_fn.at("steps"));
  CHECK_FAILS(
      strategy->make_input_fn_iterator([](const InputContext&) { return range(1); }, InputReplicationMode::kPerReplica),
      ErrorKind::kInvalidArgument, "kPerWorker is wanted");
}

TEST_CASE("experimental_run takes the iterator's next step", "[strategy][reference][S21]") {
  const Json all = testing::reference("distribute");
  const auto strategy = strategy_named("mirrored_2");
  InputIterator iterator = strategy->make_dataset_iterator(range(8).batch(4));
  iterator.initialize();
  std::vector<PerReplica<Batch>> steps;
  for (int i = 0; i < 2; ++i) {
    steps.push_back(strategy->experimental_run(
        [](const Batch& batch) {
          return Batch{batch.features.tensor() * 10, {}};
        },
        iterator));
  }
  CHECK(numbers_of(steps) == all.at("v1").at("experimental_run_times_10_range8_batch4").at("result"));
}

TEST_CASE("experimental_run without an iterator, and reduce without an axis, give what TensorFlow's give",
          "[strategy][reference][S21][S24][S46][S54]") {
  const Json all = testing::reference("distribute");
  const Json& v1 = all.at("v1");
  const auto strategy = strategy_named("mirrored_2");
  const auto ids = strategy->experimental_run([] { return get_replica_context()->replica_id_in_sync_group(); });
  const Json& expected = v1.at("experimental_run_no_iterator").at("result");
  REQUIRE(ids.size() == expected.size());
  for (size_t i = 0; i < ids.size(); ++i) testing::check_tensor(ids[i], expected[i]);
  testing::check_tensor(strategy->reduce("SUM", ids), v1.at("v1_reduce_axis_default_none").at("result"));
}

}  // namespace
}  // namespace belfry
