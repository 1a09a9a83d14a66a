// Contexts and runs, against reference/distribute.json.
#include <ATen/ATen.h>

#include <memory>
#include <optional>
#include <thread>
#include <type_traits>

#include "distribute/distributed_variable.h"
#include "tests/distribute/distribute_json.h"
#include "tests/distribute/strategies.h"

namespace belfry {
namespace {

using testing::Json;
using testing::strategy_named;
using testing::tensor_of;

// Where this thread is.
Json here(const Strategy* strategy = nullptr) {
  Json facts{{"has_strategy", has_strategy()},
             {"cross_replica", in_cross_replica_context()},
             {"has_replica_context", get_replica_context() != nullptr}};
  if (strategy) facts["get_strategy_is_it"] = &get_strategy() == strategy;
  return facts;
}

// The facts that both name.
void check_facts(const Json& facts, const Json& expected) {
  int compared = 0;
  for (const auto& [name, value] : facts.items()) {
    if (!expected.contains(name)) continue;
    INFO(name);
    CHECK(value == expected.at(name));
    ++compared;
  }
  CHECK(compared >= 3);
}

// Fails where the reference does, with the kind that is ours. What TensorFlow finds out by accident (assertion, index)
// is an argument that cannot be.
void check_error(const Json& expected, const std::function<void()>& call) {
  INFO(expected.dump());
  const std::string kind = expected.at("error");
  try {
    call();
    FAIL_CHECK("no error");
  } catch (const Error& error) {
    INFO(error.what());
    CHECK(error.kind() ==
          (kind == "wrong_context_or_state" ? ErrorKind::kFailedPrecondition : ErrorKind::kInvalidArgument));
  }
}

std::vector<std::string> lower(const Json& names) {
  std::vector<std::string> result;
  for (const Json& name : names) {
    std::string text = name;
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
    result.push_back(text);
  }
  return result;
}

template <class T>
concept Addable = requires(const T& a, const T& b) {
  a + b;
};

}  // namespace

TEST_CASE("threads are in TensorFlow's contexts", "[strategy][reference][C10][X2][S26][S27][S38]") {
  const Json expected = testing::reference("distribute").at("context");
  const auto strategy = strategy_named("mirrored_2"), other = strategy_named("mirrored_2");
  check_facts(here(), expected.at("outside"));
  const Json& outside = expected.at("outside_replica_context");
  CHECK(get_replica_context()->num_replicas_in_sync() == outside.at("num_replicas_in_sync"));
  CHECK(get_replica_context()->replica_id() == outside.at("replica_id"));
  CHECK(get_replica_context()->merge_call([](Strategy&, const PerReplica<int>& x) { return x[0] + 1; }, 1) ==
        outside.at("merge_call"));
  {
    const StrategyScope scope = strategy->scope();
    check_facts(here(strategy.get()), expected.at("in_scope"));
    CHECK((get_replica_context() == nullptr) == expected.at("replica_context_in_scope_is_none"));
    const StrategyScope again = strategy->scope();
    check_facts(here(), expected.at("same_scope_nested"));
    check_error(expected.at("other_scope_nested"), [&] { const StrategyScope wrong = other->scope(); });
    check_error(expected.at("run_other_strategy_in_scope"), [&] { other->run([] {}); });
    check_error(expected.at("set_strategy_in_scope"), [&] { experimental_set_strategy(other.get()); });
  }
  check_facts(here(), expected.at("after_scope"));
  for (const Json& facts : strategy->run([] { return here(); })) check_facts(facts, expected.at("in_run"));
  experimental_set_strategy(strategy.get());
  check_facts(here(), expected.at("after_set_strategy"));
  experimental_set_strategy(nullptr);
  check_facts(here(), expected.at("after_set_strategy_none"));
}

TEST_CASE("what a replica may not do fails as TensorFlow's", "[strategy][reference][X9][S31]") {
  const Json expected = testing::reference("distribute").at("context");
  const auto strategy = strategy_named("mirrored_2");
  const PerReplica<at::Tensor> values({at::ones({1}), at::ones({1})});
  auto data = strategy->experimental_distribute_dataset(Dataset::from_tensors(at::arange(4)).batch(2)).iterate();
  const auto in_replica = [&](const std::function<void()>& call) {
    return [&strategy, call] {
      strategy->run([&] {
        if (testing::replica_id() == 0) call();
      });
    };
  };
  check_error(expected.at("run_in_replica_context"), in_replica([&] { strategy->run([] {}); }));
  check_error(expected.at("reduce_in_replica_context"), in_replica([&] { strategy->reduce("sum", values); }));
  check_error(expected.at("scope_in_replica_context"),
              in_replica([&] { const StrategyScope wrong = strategy->scope(); }));
  check_error(expected.at("gather_in_replica_context"), in_replica([&] { strategy->gather(values, 0); }));
  check_error(expected.at("next_in_replica_context"), in_replica([&] { data.next(); }));
  const auto local = strategy->run([&] { return strategy->experimental_local_results(1); });
  CHECK(Json(local[0]) == expected.at("local_results_in_replica_context").at("result"));
  // An error of TensorFlow's at run time; here it does not compile.
  STATIC_REQUIRE_FALSE(Addable<PerReplica<at::Tensor>>);
  CHECK(expected.at("arithmetic_on_per_replica_outside_run").at("error") == "type_error");
}

TEST_CASE("values of a strategy of other size are refused, of one of the same size taken",
          "[strategy][reference][S40]") {
  const Json expected = testing::reference("distribute").at("context");
  const auto two = strategy_named("mirrored_2"), three = strategy_named("central_3");
  const auto values = two->experimental_distribute_values_from_function(
      [](const ValueContext& context) { return at::full({}, context.replica_id_in_sync_group + 1, at::kFloat); });
  const auto other = strategy_named("central_2");
  const auto same = other->run([](const at::Tensor& value) { return value; }, values);
  const Json& wanted = expected.at("values_of_other_strategy").at("result");
  for (size_t i = 0; i < 2; ++i) testing::check_tensor(same[i], wanted[i]);
  check_error(expected.at("values_of_smaller_strategy"),
              [&] { three->run([](const at::Tensor& value) { return value; }, values); });
}

TEST_CASE("strategies have TensorFlow's devices and replicas", "[strategy][reference][C1][C2][C3][S6]") {
  const Json expected = testing::reference("distribute").at("context");
  for (const auto& [name, replicas] : expected.at("num_replicas").items()) {
    INFO(name);
    CHECK((name == "default" ? get_strategy() : *strategy_named(name)).num_replicas_in_sync() == replicas);
  }
  for (const Json& reference : expected.at("central_devices")) {
    INFO(reference.dump());
    CentralStorageStrategyOptions options{.compute_devices = lower(reference.at("compute"))};
    if (!reference.at("parameter").is_null()) options.parameter_device = lower({reference.at("parameter")})[0];
    const CentralStorageStrategy strategy(options);
    const Json& result = reference.at("result");
    CHECK(strategy.num_replicas_in_sync() == result.at("replicas"));
    CHECK(names_of(strategy.worker_devices()) == lower(result.at("compute")));
    CHECK(strategy.parameter_device().name == lower({result.at("variable")})[0]);
  }
  check_error(expected.at("duplicate_devices"), [] { MirroredStrategy({.devices = {"cpu:0", "cpu:0"}}); });
  const auto one = strategy_named("one_device");
  one->run([] { get_variable("v", at::ones({1})); });
  CHECK(one->store().find("v")->device_name() == lower({expected.at("one_device_variable_device")})[0]);
}

TEST_CASE("strategies without devices take the machine's, as TensorFlow's", "[strategy][reference][C2]") {
  const Json expected = testing::reference("distribute").at("context");
  // The reference has 4 logical CPUs; how many there are here is this machine's matter.
  REQUIRE(expected.at("empty_devices") == expected.at("mirrored_default_devices_no_accelerator"));
  const MirroredStrategy given_none({.devices = {}}), by_default;
  CHECK(names_of(given_none.worker_devices()) == names_of(by_default.worker_devices()));
  if (default_devices()[0] != "cpu:0") return;  // the rest is of machines without a GPU
  CHECK(by_default.num_replicas_in_sync() == static_cast<int>(std::thread::hardware_concurrency()));
  const Json& central = expected.at("central_default_no_accelerator").at("result");
  const CentralStorageStrategy strategy;
  CHECK(strategy.num_replicas_in_sync() == central.at("replicas"));
  CHECK(names_of(strategy.worker_devices()) == lower(central.at("compute")));
  CHECK(strategy.parameter_device().name == lower(central.at("parameter"))[0]);
}

namespace {

// As much of a RunConfig as update_config_proto looks at, and a field that is none of its business.
struct Config {
  bool allow_soft_placement = false;
  std::shared_ptr<const Strategy> train_distribute = {}, eval_distribute = {};
};

// In TensorFlow's names; the session option is what says there that a strategy is in force.
Json described(const Config& config) {
  Json fields;
  if (config.allow_soft_placement) fields["allowSoftPlacement"] = true;
  if (config.train_distribute && config.eval_distribute) fields["isolateSessionState"] = true;
  return fields;
}

}  // namespace

TEST_CASE("update_config_proto changes a copy, as TensorFlow's", "[strategy][reference][S34][S54]") {
  const Json all = testing::reference("distribute").at("cluster").at("update_config_proto");
  for (const auto& [name, reference] : all.items()) {
    if (name == "multi_worker") continue;  // there is no such strategy
    INFO(name << " " << reference.dump());
    const Json& expected = reference.at("result");
    const Config before{.allow_soft_placement = expected.at("input").contains("allowSoftPlacement")};
    const Config after = strategy_named(name)->update_config_proto(before);
    CHECK((described(before) == expected.at("input")) == expected.at("is_a_copy"));
    // One device needs no option of a session there. Here the copy names the strategy, like any other's.
    Json wanted = expected.at("output");
    if (name == "one_device") wanted["isolateSessionState"] = true;
    CHECK(described(after) == wanted);
  }
}

TEST_CASE("a run hands out and returns what TensorFlow's does", "[strategy][reference][S2][S25][S40][S43][S44][C6]") {
  const Json expected = testing::reference("distribute").at("run");
  for (const auto& [name, reference] : expected.items()) {
    if (name == "one_device") continue;
    INFO(name);
    const auto strategy = strategy_named(name);
    const PerReplica<at::Tensor> per_replica(testing::tensors_of(reference.at("per_replica")));
    const at::Tensor a = tensor_of(reference.at("a"));
    // The rule of the file: a, a component in a list, and one in a map.
    REQUIRE(reference.at("rule") == "a + 0.5*p + p");
    struct Result {
      at::Tensor v, id;
      int n;
    };
    const auto results = strategy->run(
        [](const at::Tensor& whole, const std::vector<at::Tensor>& half, const at::Tensor& own) {
          const ReplicaContext& replica = *get_replica_context();
          return Result{whole + half[0] * half[1] + own, replica.replica_id_in_sync_group(),
                        replica.num_replicas_in_sync()};
        },
        a,
        std::vector<PerReplica<at::Tensor>>{per_replica.map([](const at::Tensor&) { return at::full({}, 0.5); }),
                                            per_replica},
        per_replica);
    for (size_t i = 0; i < results.size(); ++i) {
      testing::check_tensor(results[i].v, reference.at("v")[i]);
      testing::check_tensor(results[i].id, reference.at("id")[i]);
      CHECK(results[i].n == reference.at("n"));
    }
    // What returns nothing has no result: there None, here void.
    REQUIRE(reference.at("none_returned").is_null());
    STATIC_REQUIRE(std::is_void_v<decltype(strategy->run([] {}))>);
    CHECK_FALSE(strategy->run([] { return std::optional<int>(); })[0].has_value());
    CHECK(strategy->run([&] { return a; }).is_same_on_all() !=
          reference.at("same_object_returned").at("is_distributed").get<bool>());
    CHECK(strategy->run([] { return 7; }).is_same_on_all() !=
          reference.at("literal_returned_is_distributed").get<bool>());
    CHECK(Json(strategy->run([] { return 10 * testing::replica_id(); }).components()) ==
          reference.at("different_literals"));
    CHECK(strategy->experimental_local_results(1.5) ==
          reference.at("local_results_of_plain").get<std::vector<double>>());
  }
  const Json& one = expected.at("one_device");
  const auto strategy = strategy_named("one_device");
  int64_t sum = 0;
  for (int64_t x = 0; x < 10; ++x) sum += strategy->run([](int64_t value) { return 2 * value; }, x)[0];
  CHECK(sum == one.at("sum_of_run_x_times_2_for_0_to_9"));
  testing::check_tensor(strategy->experimental_local_results(at::tensor({1, 2}, at::kInt))[0],
                        one.at("local_results")[0]);
}

TEST_CASE("no strategy of one machine has a cluster resolver", "[strategy][reference][S3]") {
  const Json expected = testing::reference("distribute").at("cluster").at("cluster_resolver_of_others");
  for (const auto& [name, is_none] : expected.items()) {
    const auto strategy = strategy_named(name == "one_device" ? name : name + "_2");
    CHECK((strategy->cluster_resolver() == nullptr) == is_none);
  }
  CHECK(get_strategy().cluster_resolver() == nullptr);
}

}  // namespace belfry
