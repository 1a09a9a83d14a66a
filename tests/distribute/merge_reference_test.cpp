// merge_call and what goes wrong around it, against reference/distribute.json.
#include <ATen/ATen.h>

#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "tests/distribute/distribute_json.h"
#include "tests/distribute/strategies.h"
#include "tests/support/check_fails.h"

namespace belfry {
namespace {

using testing::Json;
using testing::replica_id;
using testing::strategy_named;

// The cases of one call, and that there are some.
void each_case(const std::string& call, const std::function<void(Strategy&, const Json&)>& check) {
  const Json all = testing::reference("distribute");
  int found = 0;
  for (const Json& reference : all.at("collectives")) {
    if (reference.at("call") != call) continue;
    INFO(reference.dump());
    check(*strategy_named(reference.at("strategy")), reference);
    ++found;
  }
  CHECK(found > 0);
}

int64_t total_of_ids(Strategy& strategy) {
  const auto sums = strategy.run(
      [] { return get_replica_context()->all_reduce("SUM", get_replica_context()->replica_id_in_sync_group()); });
  return sums[0].item<int64_t>();
}

void check_usable(Strategy& strategy) {
  const int64_t replicas = strategy.num_replicas_in_sync();
  CHECK(total_of_ids(strategy) == replicas * (replicas - 1) / 2);
}

}  // namespace

TEST_CASE("merge_call gives and returns what TensorFlow's does", "[strategy][reference][X10]") {
  each_case("merge_call", [](Strategy& strategy, const Json& reference) {
    using Named = std::pair<at::Tensor, int>;
    Json seen;
    // Replica 0's thread calls the function, and `run` ends after it. A PerReplica of what is the same on all replicas
    // is what the original calls not distributed.
    const auto merge = [&](Strategy& across, const PerReplica<at::Tensor>& a, const PerReplica<std::string>& b,
                           const PerReplica<Named>& k) {
      const auto x = k.map([](const Named& named) { return named.first; });
      const auto y = k.map([](const Named& named) { return named.second; });
      seen = {{"same_strategy", &across == &strategy},
              {"a_is_distributed", !a.is_same_on_all()},
              {"b_literal", b.is_same_on_all() ? b[0] : "differs"},
              {"k_is_distributed", {{"x", !x.is_same_on_all()}, {"y", !y.is_same_on_all()}}},
              {"cross_replica", in_cross_replica_context()},
              {"replica_context_inside", get_replica_context() != nullptr}};
      return std::tuple(across.reduce("SUM", a), a, 5);
    };
    const auto returned = strategy.run(
        [&](const at::Tensor& mine) {
          return get_replica_context()->merge_call(merge, mine, std::string("text"), Named(2 * mine, 1));
        },
        PerReplica<at::Tensor>(testing::tensors_of(reference.at("values"))));
    const Json& expected = reference.at("result");
    CHECK(seen == expected.at("seen_in_merge"));
    REQUIRE(returned.size() == expected.at("returned").size());
    for (size_t i = 0; i < returned.size(); ++i) {
      const Json& own = expected.at("returned")[i];
      testing::check_tensor(std::get<0>(returned[i]), own[0]);
      testing::check_tensor(std::get<1>(returned[i]), own[1]);
      CHECK(std::get<2>(returned[i]) == own[2]);
    }
  });
}

TEST_CASE("replicas that merge unequally often are told so, as TensorFlow's", "[strategy][reference][X8][X10]") {
  each_case("merge_call_count_mismatch", [](Strategy& strategy, const Json& reference) {
    const std::string note = reference.at("note");
    const bool only_first = note.starts_with("only replica 0 calls");
    REQUIRE((only_first || note.starts_with("replica 1 calls twice")));
    REQUIRE(reference.at("error") == "wrong_context_or_state");
    const auto calls = [only_first](int replica) {
      if (only_first) return replica == 0 ? 1 : 0;
      return replica == 1 ? 2 : 1;
    };
    const auto unequal = [&] {
      strategy.run([&] {
        for (int i = 0; i < calls(replica_id()); ++i) get_replica_context()->merge_call([](Strategy&) {});
      });
    };
    CHECK_FAILS((unequal(), 0), ErrorKind::kFailedPrecondition, "has returned");
    check_usable(strategy);
  });
}

// There the arguments are taken apart, which lists of unequal length fail by an assertion. Here each replica's value
// stays whole, whatever its length, and what has to agree is asked of reduce.
TEST_CASE("a merge function sees lists of unequal length, and reduce refuses them", "[strategy][reference][X10]") {
  each_case("merge_call_structure_mismatch", [](Strategy& strategy, const Json& reference) {
    REQUIRE(reference.at("note") == "list of r+1 numbers");
    REQUIRE(reference.at("error") == "assertion");
    const auto numbers = [] { return std::vector<at::Tensor>(static_cast<size_t>(replica_id()) + 1, at::ones({})); };
    const auto sizes = [](Strategy&, const PerReplica<std::vector<at::Tensor>>& lists) {
      return lists.map([](const std::vector<at::Tensor>& list) { return list.size(); });
    };
    const auto seen = strategy.run([&] { return get_replica_context()->merge_call(sizes, numbers()); });
    for (size_t i = 0; i < seen.size(); ++i) CHECK(seen[i] == i + 1);
    const auto sum = [](Strategy& across, const PerReplica<std::vector<at::Tensor>>& lists) {
      return across.reduce("SUM", lists);
    };
    CHECK_FAILS(strategy.run([&] { return get_replica_context()->merge_call(sum, numbers()); }),
                ErrorKind::kInvalidArgument, "replica 0 has [*] and replica 1 has [*, *]");
    check_usable(strategy);
  });
}

TEST_CASE("a replica's exception releases those that wait, as TensorFlow's", "[strategy][reference][X8]") {
  each_case("replica_raises", [](Strategy& strategy, const Json& reference) {
    REQUIRE(reference.at("note") == "replica 1 raises an invalid-argument error while replica 0 waits");
    REQUIRE(reference.at("error") == "invalid_argument");
    const auto raises = [&] {
      strategy.run([] {
        if (replica_id() == 1) fail(ErrorKind::kInvalidArgument, "replica 1 has had enough");
        get_replica_context()->merge_call([](Strategy&) {});
      });
    };
    CHECK_FAILS((raises(), 0), ErrorKind::kInvalidArgument, "replica 1 has had enough");
    check_usable(strategy);
  });
}

TEST_CASE("components go back to their replicas from any depth of a merge function's result", "[strategy][X10]") {
  const auto strategy = strategy_named("mirrored_2");
  const auto merge = [](Strategy&, const PerReplica<int>& ids) {
    return std::map<std::string, std::vector<PerReplica<int>>>{{"ids", {ids, ids.map([](int id) { return 10 * id; })}}};
  };
  const auto returned = strategy->run([&] { return get_replica_context()->merge_call(merge, replica_id()); });
  CHECK(returned[1].at("ids") == std::vector<int>{1, 10});
  const auto too_many = [](Strategy&) { return std::vector{PerReplica<int>({1, 2, 3})}; };
  CHECK_FAILS(strategy->run([&] { return get_replica_context()->merge_call(too_many); }), ErrorKind::kInvalidArgument,
              "the result of merge_call's function: a PerReplica of 3 components was given to 2 replicas");
}

}  // namespace belfry
