#include "distribute/distributed_dataset.h"

#include <ATen/ATen.h>

#include <atomic>
#include <stdexcept>

#include "tests/distribute/strategies.h"
#include "tests/support/check_fails.h"
#include "tests/testing.h"

using belfry::Batch;
using belfry::Dataset;
using belfry::ErrorKind;
using belfry::InputContext;
using belfry::PerReplica;
using belfry::testing::strategy_named;

namespace {

Dataset range(int64_t count) { return Dataset::from_tensors(at::arange(count)); }

int64_t rows(const Batch& batch) { return batch.features.rows(); }

}  // namespace

TEST_CASE("every entry of a step is cut alike, labels and strings too", "[strategy][S8]") {
  const auto strategy = strategy_named("mirrored_2");
  const Dataset dataset = Dataset::from_tensors(
      {{"x", at::arange(10).view({5, 2})}, {"word", belfry::StringTensor({"a", "b", "c", "d", "e"})}}, at::arange(5));
  auto iterator = strategy->experimental_distribute_dataset(dataset.batch(5)).iterate();
  const auto step = iterator.next();
  REQUIRE(step.has_value());
  CHECK(rows((*step)[0]) == 3);
  CHECK((*step)[1].features["x"].equal(at::arange(6, 10).view({2, 2})));
  CHECK((*step)[1].features.strings("word")[0] == "d");
  CHECK((*step)[1].labels.tensor().equal(at::tensor({3, 4})));
  CHECK_FALSE(iterator.next().has_value());
  CHECK_FALSE(iterator.next().has_value());
}

TEST_CASE("a run takes the pieces, and an empty one adds nothing to a sum", "[strategy][S48]") {
  const auto strategy = strategy_named("mirrored_3");
  double total = 0;
  for (const PerReplica<Batch>& step : strategy->experimental_distribute_dataset(range(10).batch(4))) {
    const auto sums = strategy->run([](const Batch& batch) { return batch.features.tensor().sum(); }, step);
    total += strategy->reduce("SUM", sums).item<double>();
  }
  CHECK(total == 45);
}

TEST_CASE("a step cannot be taken inside a run", "[strategy][X9][S31]") {
  const auto strategy = strategy_named("mirrored_2");
  auto iterator = strategy->experimental_distribute_dataset(range(4).batch(2)).iterate();
  strategy->run([&] {
    const belfry::testing::InTurn turn;
    if (belfry::testing::replica_id() == 0) CHECK_FAILS(iterator.next(), ErrorKind::kInvalidArgument, "replica 0");
    CHECK_FAILS(strategy->experimental_distribute_dataset(range(4).batch(2)), ErrorKind::kFailedPrecondition, "run");
  });
  CHECK(iterator.next().has_value());
}

TEST_CASE("entries that differ in their rows are refused", "[strategy]") {
  const auto strategy = strategy_named("mirrored_2");
  const Dataset dataset = range(4).batch(4).map([](Batch batch) {
    return Batch{batch.features, batch.features.tensor().narrow(0, 0, 3)};
  });
  CHECK_FAILS(strategy->experimental_distribute_dataset(dataset).iterate().next(), ErrorKind::kInvalidArgument,
              "4 rows of features and 3 of labels");
}

TEST_CASE("input options that cannot be met are refused", "[strategy][S18]") {
  const auto strategy = strategy_named("mirrored_2");
  const Dataset dataset = range(4).batch(2);
  using belfry::InputReplicationMode;
  CHECK_FAILS(strategy->experimental_distribute_dataset(dataset, {.experimental_place_dataset_on_device = true}),
              ErrorKind::kInvalidArgument, "experimental_place_dataset_on_device");
  CHECK_FAILS(strategy->experimental_distribute_dataset(
                  dataset, {.experimental_replication_mode = InputReplicationMode::kPerReplica}),
              ErrorKind::kUnimplemented, "kPerReplica");
  CHECK_FAILS(strategy->experimental_distribute_dataset(dataset, {.experimental_per_replica_buffer_size = -1}),
              ErrorKind::kInvalidArgument, "is -1");
}

TEST_CASE("steps are read ahead, or not where the buffer is 0", "[strategy][S13]") {
  const auto strategy = strategy_named("mirrored_2");
  std::atomic<int> read{0};
  const Dataset dataset = range(100).batch(2).map([&](Batch batch) {
    ++read;
    return batch;
  });
  {
    auto iterator =
        strategy->experimental_distribute_dataset(dataset, {.experimental_per_replica_buffer_size = 0}).iterate();
    iterator.next();
    CHECK(read == 1);
  }
  read = 0;
  auto iterator = strategy->experimental_distribute_dataset(dataset).iterate();
  iterator.next();
  for (int i = 0; i < 3000 && read < 2; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(read >= 2);  // though nobody has asked for the second step yet
}

TEST_CASE("a position leads back to its step", "[strategy]") {
  const auto strategy = strategy_named("mirrored_2");
  const auto dataset = strategy->experimental_distribute_dataset(range(12).shuffle({.seed = 3}).batch(4).repeat(3));
  auto first = dataset.iterate();
  for (int i = 0; i < 4; ++i) first.next();
  auto second = dataset.iterate();
  second.restore(first.position());
  for (int i = 0; i < 5; ++i) {
    const auto a = first.next(), b = second.next();
    REQUIRE(a.has_value());
    REQUIRE(b.has_value());
    for (size_t k = 0; k < 2; ++k) CHECK((*a)[k].features.tensor().equal((*b)[k].features.tensor()));
  }
  CHECK_FALSE(second.next().has_value());
}

TEST_CASE("an exception of the data set comes out of next", "[strategy]") {
  const auto strategy = strategy_named("mirrored_2");
  const Dataset dataset = range(4).batch(2).map([](Batch) -> Batch { throw std::runtime_error("bad row"); });
  CHECK_THROWS_WITH(strategy->experimental_distribute_dataset(dataset).iterate().next(), "bad row");
  CHECK_FAILS(strategy->distribute_datasets_from_function(nullptr), ErrorKind::kInvalidArgument, "no function");
}

TEST_CASE("the function of a data set is called in the strategy's scope", "[strategy][S31]") {
  const auto strategy = strategy_named("central_2");
  strategy->distribute_datasets_from_function([&](const InputContext& context) {
    CHECK(&belfry::get_strategy() == strategy.get());
    CHECK(belfry::in_cross_replica_context());
    CHECK(context.get_per_replica_batch_size(6) == 3);
    return range(4).batch(2);
  });
}

TEST_CASE("an iterator of the older form has to be started, and ends with an error", "[strategy][S22]") {
  const auto strategy = strategy_named("mirrored_2");
  belfry::InputIterator iterator = strategy->make_dataset_iterator(range(2).batch(2));
  CHECK_FAILS(iterator.get_next(), ErrorKind::kFailedPrecondition, "before initialize");
  iterator.initialize();
  CHECK(rows(iterator.get_next()[0]) == 1);
  CHECK_FAILS(iterator.get_next(), ErrorKind::kOutOfRange, "has ended");
  iterator.initialize();
  CHECK(rows(iterator.get_next()[1]) == 1);
}

TEST_CASE("arrays become a data set of their rows", "[strategy][S20][C7]") {
  const auto strategy = strategy_named("mirrored_2");
  const Dataset dataset = strategy->experimental_make_numpy_dataset({{"x", at::arange(6).view({3, 2})}}, at::arange(3));
  auto iterator = strategy->experimental_distribute_dataset(dataset.batch(2)).iterate();
  CHECK((*iterator.next())[1].features["x"].equal(at::arange(2, 4).view({1, 2})));
  CHECK_FAILS(strategy->experimental_make_numpy_dataset(at::arange(3), at::arange(2)), ErrorKind::kInvalidArgument,
              "3");
}

TEST_CASE("a distributed data set says what a replica's piece looks like", "[strategy][S14]") {
  const auto strategy = strategy_named("mirrored_2");
  const auto rows_of_piece = [&](int64_t batch, bool drop) {
    const Dataset dataset = Dataset::from_tensors({{"x", at::ones({12, 3})}}, at::arange(12));
    const auto spec =
        strategy->experimental_distribute_dataset(dataset.batch(batch, {.drop_remainder = drop})).element_spec();
    REQUIRE(spec);
    CHECK(spec->features[0].first == "x");
    CHECK(spec->features[0].second.dtype == at::kFloat);
    CHECK(spec->features[0].second.shape.at(1) == 3);
    CHECK(spec->labels[0].second.shape.at(0) == spec->features[0].second.shape[0]);
    return spec->features[0].second.shape[0];
  };
  CHECK(rows_of_piece(4, true) == 2);
  CHECK(rows_of_piece(5, true) == belfry::kUnknownSize);
  CHECK(rows_of_piece(4, false) == belfry::kUnknownSize);
  const auto own = strategy->distribute_datasets_from_function(
      [](const InputContext&) { return range(12).batch(4, {.drop_remainder = true}); });
  CHECK(own.element_spec()->features[0].second.shape == std::vector<int64_t>{belfry::kUnknownSize});
}

TEST_CASE("under OFF a place in the input divides its batches as the whole reading does", "[strategy][S10][S12]") {
  const auto strategy = strategy_named("mirrored_3");
  belfry::DatasetOptions options;
  options.distribute.auto_shard_policy = belfry::AutoShardPolicy::kOff;
  const auto sizes = [](const PerReplica<Batch>& step) {
    std::vector<int64_t> all;
    for (const Batch& batch : step) all.push_back(rows(batch));
    return all;
  };
  const auto distributed = strategy->experimental_distribute_dataset(range(7).batch(4).with_options(options));
  auto iterator = distributed.iterate();
  CHECK(sizes(*iterator.next()) == std::vector<int64_t>{2, 1, 1});
  const std::string position = iterator.position();
  const std::vector<int64_t> last = sizes(*iterator.next());
  auto resumed = distributed.iterate();
  resumed.restore(position);
  CHECK(sizes(*resumed.next()) == last);
}

TEST_CASE("all replicas share one input pipeline", "[strategy][S16]") {
  const auto strategy = strategy_named("mirrored_2");
  std::atomic<int> calls = 0;
  const Dataset counted = range(8).batch(4).map([&](Batch batch) {
    ++calls;
    return batch;
  });
  for (const auto& step : strategy->experimental_distribute_dataset(counted)) CHECK(step.size() == 2);
  CHECK(calls == 2);
}

TEST_CASE("the defaults of input options are TensorFlow's", "[strategy][S18]") {
  const belfry::InputOptions options;
  CHECK(options.experimental_fetch_to_device);
  CHECK(options.experimental_replication_mode == belfry::InputReplicationMode::kPerWorker);
  CHECK_FALSE(options.experimental_place_dataset_on_device);
  CHECK(options.experimental_per_replica_buffer_size == 1);
  const auto strategy = strategy_named("mirrored_2");
  CHECK_FAILS(strategy->distribute_datasets_from_function(
                  [](const InputContext&) { return range(4).batch(2); },
                  {.experimental_replication_mode = belfry::InputReplicationMode::kPerReplica}),
              ErrorKind::kUnimplemented, "kPerReplica");
}

TEST_CASE("a function's last step is filled up under every strategy", "[strategy][S7]") {
  for (const char* name : {"central_2", "mirrored_2"}) {
    const auto strategy = strategy_named(name);
    auto iterator =
        strategy->experimental_distribute_datasets_from_function([](const InputContext&) { return range(3).batch(1); })
            .iterate();
    iterator.next();
    const auto last = iterator.next();
    CHECK(rows((*last)[0]) == 1);
    CHECK(rows((*last)[1]) == 0);
    CHECK_FALSE(iterator.next());
  }
}

TEST_CASE("scalars are refused in the first step of a function's data set", "[strategy]") {
  const auto strategy = strategy_named("mirrored_2");
  auto iterator = strategy->distribute_datasets_from_function([](const InputContext&) { return range(4); }).iterate();
  CHECK_FAILS(iterator.next(), ErrorKind::kInvalidArgument, "batch");
}

TEST_CASE("rows that are numbered come back in order", "[strategy][S53]") {
  const auto strategy = strategy_named("mirrored_3");
  const at::Tensor x = at::arange(10, at::kFloat);
  const Dataset numbered = Dataset::from_tensors({{"id", at::arange(10)}, {"x", x}}).shuffle({.seed = 3}).batch(4);
  std::vector<at::Tensor> ids, outputs;
  for (const auto& step : strategy->experimental_distribute_dataset(numbered)) {
    ids.push_back(strategy->gather(step.map([](const Batch& batch) { return batch.features["id"]; }), 0));
    outputs.push_back(
        strategy->gather(strategy->run([](const Batch& batch) { return 2 * batch.features["x"]; }, step), 0));
  }
  CHECK(at::cat(outputs).index_select(0, at::cat(ids).argsort()).equal(2 * x));
}
