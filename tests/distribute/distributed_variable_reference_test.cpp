// What TensorFlow's variables do under strategies: reference/distribute.json.
#include <ATen/ATen.h>

#include "distribute/distributed_variable.h"
#include "distribute/strategy_extended.h"
#include "tests/distribute/distribute_json.h"
#include "tests/distribute/strategies.h"
#include "tests/support/check_fails.h"

namespace belfry {
namespace {

using testing::Json;
using testing::strategy_named;

VariableSynchronization synchronization_named(const std::string& name) {
  if (name == "AUTO") return VariableSynchronization::kAuto;
  if (name == "NONE") return VariableSynchronization::kNone;
  REQUIRE((name == "ON_WRITE" || name == "ON_READ"));
  return name == "ON_WRITE" ? VariableSynchronization::kOnWrite : VariableSynchronization::kOnRead;
}

VariableAggregation aggregation_named(const std::string& name) {
  if (name == "NONE") return VariableAggregation::kNone;
  if (name == "SUM") return VariableAggregation::kSum;
  REQUIRE((name == "MEAN" || name == "ONLY_FIRST_REPLICA"));
  return name == "MEAN" ? VariableAggregation::kMean : VariableAggregation::kOnlyFirstReplica;
}

at::Tensor scalar(double value) { return at::full({}, value, at::kFloat); }

void change(DistributedVariable& variable, const std::string& call, double value) {
  if (call == "assign") return variable.assign(scalar(value));
  if (call == "assign_add") return variable.assign_add(scalar(value));
  require(call == "assign_sub", call);
  variable.assign_sub(scalar(value));
}

// One case: a variable for each call, changed by it, and read from everywhere.
class Case {
 public:
  explicit Case(const Json& reference) : reference_(reference), strategy_(strategy_named(reference.at("strategy"))) {}

  void check_creation() {
    if (reference_.contains("create")) {
      CHECK_FAILS(make("w"), ErrorKind::kInvalidArgument, "'w'");
      return;
    }
    CHECK_NOTHROW(make("w"));
  }

  void check_call(const std::string& name) {
    INFO(name);
    DistributedVariable variable = make(name);
    const auto failure = testing::failure_of([&] { call(name, variable); });
    const Json& expected = reference_.at(name);
    // Copies of a variable that is written for all are equal here: what would make them drift is refused.
    const bool drifts = variable.synchronization() != VariableSynchronization::kOnRead &&
                        strategy_->copies_of_variables() > 1 && name.starts_with("replica_") &&
                        variable.aggregation() == VariableAggregation::kNone;
    const bool for_each = name == "cross_assign_per_replica" && strategy_->num_replicas_in_sync() > 1;
    if (drifts || for_each || expected.contains("error")) {
      REQUIRE(failure.has_value());
      CHECK(failure->kind == ErrorKind::kInvalidArgument);
      CHECK_THAT(failure->message, Catch::Contains("'" + name + "'"));
      testing::check_close(at::stack(variable.components()).to(at::kDouble),
                           at::full({static_cast<int64_t>(variable.components().size())},
                                    reference_.at("init").get<double>(), at::kDouble));
      return;
    }
    if (failure) FAIL(failure->message);
    check_values(variable, expected.at("result"));
  }

 private:
  DistributedVariable make(const std::string& name) {
    const auto scope = strategy_->scope();
    return get_variable(name, scalar(reference_.value("init", 0.0)),
                        {.synchronization = synchronization_named(reference_.at("synchronization")),
                         .aggregation = aggregation_named(reference_.at("aggregation"))});
  }

  double value(int replica) const { return reference_.at("values")[static_cast<size_t>(replica)]; }

  void call(const std::string& name, DistributedVariable& variable) {
    if (name == "replica_assign_add_literal_1.5") return strategy_->run([&] { variable.assign_add(1.5); });
    if (name == "outside_scope_assign_add") return change(variable, "assign_add", value(0));
    const auto scope = strategy_->scope();
    if (name == "cross_assign_per_replica") {
      return variable.assign(strategy_->experimental_distribute_values_from_function(
          [&](const ValueContext& context) { return scalar(value(context.replica_id_in_sync_group)); }));
    }
    if (name.starts_with("cross_")) return change(variable, name.substr(6), value(0));
    REQUIRE(name.starts_with("replica_"));
    strategy_->run([&] { change(variable, name.substr(8), value(testing::replica_id())); });
  }

  void check_values(const DistributedVariable& variable, const Json& expected) {
    testing::check_close(at::stack(variable.components()), expected.at("components"));
    const auto read = strategy_->run([&] { return variable.value().detach().clone(); });
    testing::check_close(at::stack(read.components()), expected.at("replica_read"));
    const Json& outside = expected.at("cross_replica_read");
    if (outside.is_string()) {
      CHECK_FAILS(variable.value(), ErrorKind::kInvalidArgument, variable.name());
    } else {
      testing::check_close(variable.value(), outside);
    }
  }

  const Json& reference_;
  std::unique_ptr<Strategy> strategy_;
};

TEST_CASE("variables are assigned and read as TensorFlow's", "[strategy][reference][S28][S30]") {
  const Json all = testing::reference("distribute");
  for (const Json& reference : all.at("variables").at("cases")) {
    INFO(reference.dump());
    Case test(reference);
    test.check_creation();
    for (const auto& [name, expected] : reference.items()) {
      if (expected.is_object() && name != "create") test.check_call(name);
    }
  }
}

TEST_CASE("rows that replicas add are aggregated as TensorFlow's", "[strategy][reference][S28]") {
  const Json all = testing::reference("distribute");
  for (const auto& [name, reference] : all.at("variables").at("extra").items()) {
    if (!name.starts_with("scatter_add_")) continue;
    INFO(name);
    const auto strategy = strategy_named("mirrored_2");
    const auto scope = strategy->scope();
    DistributedVariable variable =
        get_variable("w", at::zeros({4, 2}), {.aggregation = aggregation_named(name.substr(12))});
    const auto add = [&] {
      strategy->run([&](const at::Tensor& indices, const at::Tensor& rows) { variable.scatter_add(indices, rows); },
                    PerReplica<at::Tensor>(testing::tensors_of(reference.at("indices"))),
                    PerReplica<at::Tensor>(testing::tensors_of(reference.at("values"))));
    };
    if (name == "scatter_add_NONE") {  // copies would drift
      CHECK_FAILS((add(), 0), ErrorKind::kInvalidArgument, "no aggregation");
      continue;
    }
    add();
    for (const Json& copy : reference.at("result")) testing::check_tensor(variable.value(), copy);
  }
}

TEST_CASE("odd variables are as TensorFlow's", "[strategy][reference][S28]") {
  const Json all = testing::reference("distribute");
  const Json& extra = all.at("variables").at("extra");
  const auto strategy = strategy_named("mirrored_2");
  const auto scope = strategy->scope();
  CHECK_FAILS(get_variable("n", at::zeros({}, at::kInt), {.aggregation = VariableAggregation::kMean}),
              ErrorKind::kInvalidArgument, "no mean");
  DistributedVariable sum =
      get_variable("sum", scalar(0),
                   {.synchronization = VariableSynchronization::kOnRead, .aggregation = VariableAggregation::kSum});
  sum.assign(10);
  testing::check_close(at::stack(sum.components()), extra.at("on_read_sum_cross_assign_10_components").at("result"));
  const Json& defaults = extra.at("trainable_defaults").at("result");
  CHECK(sum.trainable() == defaults.at("on_read_trainable"));
  CHECK(get_variable("w", scalar(1)).trainable() == defaults.at("on_write_trainable"));
  CHECK(get_variable("r", scalar(1), {.trainable = true, .synchronization = VariableSynchronization::kOnRead})
            .trainable() == extra.at("on_read_trainable_true").at("result"));
  std::vector<std::string> names = get_variable("w", scalar(1)).component_names();
  for (std::string& name : names) name += ":0";
  CHECK(Json(names) == extra.at("component_names"));
}

// "extended_update_per_replica_2_5_from_1": each copy adds its component to 1. Copies of a variable that is written for
// all would drift there; here they are one, which takes replica 0's component.
TEST_CASE("update gives every copy its own component, as TensorFlow's", "[strategy][reference][S5][S28]") {
  const Json all = testing::reference("distribute");
  const Json& expected = all.at("variables").at("extra").at("extended_update_per_replica_2_5_from_1").at("result");
  const auto strategy = strategy_named("mirrored_2");
  const auto scope = strategy->scope();
  const auto updated = [&](VariableSynchronization synchronization) {
    DistributedVariable variable =
        get_variable(to_string(synchronization), scalar(1),
                     {.synchronization = synchronization, .aggregation = VariableAggregation::kOnlyFirstReplica});
    strategy->extended().update(
        variable, [](at::Tensor& copy, const at::Tensor& value) { copy.add_(value); },
        PerReplica<at::Tensor>({scalar(2), scalar(5)}));
    return at::stack(variable.components());
  };
  testing::check_close(updated(VariableSynchronization::kOnRead), expected);
  testing::check_close(updated(VariableSynchronization::kOnWrite), Json::array({expected[0], expected[0]}));
}

TEST_CASE("a variable made inside a run is one variable for all replicas", "[strategy][reference][S28]") {
  const Json all = testing::reference("distribute");
  const Json& expected = all.at("variables").at("extra").at("variable_created_in_run").at("result");
  const auto strategy = strategy_named("mirrored_2");
  const auto values = strategy->run([] { return get_variable("made", scalar(3)).value().detach().clone(); });
  for (size_t i = 0; i < 2; ++i) testing::check_tensor(values[i], expected[i]);
  CHECK(strategy->store().variables(VariableKind::kParameter).size() == 1);
}

}  // namespace
}  // namespace belfry
