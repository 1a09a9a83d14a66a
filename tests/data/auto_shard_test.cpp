#include <fstream>

#include "tests/data/support.h"
#include "tests/support/check_fails.h"
#include "tests/support/temporary_directory.h"

using namespace belfry;
using namespace belfry::testing;

namespace {

using Elements = std::vector<std::vector<int64_t>>;

Dataset with_policy(const Dataset& data, AutoShardPolicy policy) {
  return data.with_options({.distribute = {.auto_shard_policy = policy}});
}

// What each worker reads.
std::vector<Elements> shards(const Dataset& data, int64_t workers) {
  std::vector<Elements> read;
  for (int64_t i = 0; i < workers; ++i) read.push_back(batches_of(data.auto_shard(workers, i)));
  return read;
}

// File i of `counts` has so many rows, whose x is 10 i, 10 i + 1 …
std::vector<std::string> write_csv(const TemporaryDirectory& folder, const std::vector<int64_t>& counts) {
  std::vector<std::string> paths;
  for (size_t i = 0; i < counts.size(); ++i) {
    paths.push_back(folder.file("part" + std::to_string(i) + ".csv"));
    std::ofstream file(paths.back());
    file << "x,name\n";
    for (int64_t row = 0; row < counts[i]; ++row) file << static_cast<int64_t>(i) * 10 + row << ",r" << row << "\n";
  }
  return paths;
}

}  // namespace

TEST_CASE("a data set remembers its options through transformations, and the last ones count", "[data][S50]") {
  const Dataset plain = numbers(8);
  CHECK(plain.options().distribute.auto_shard_policy == AutoShardPolicy::kAuto);
  const Dataset off = with_policy(plain, AutoShardPolicy::kOff);
  CHECK(plain.options().distribute.auto_shard_policy == AutoShardPolicy::kAuto);
  const Dataset transformed = off.map([](Batch element) { return element; })
                                  .shuffle({.seed = 1})
                                  .repeat(2)
                                  .take(9)
                                  .skip(1)
                                  .shard(2, 0)
                                  .shard(kShardHint, kShardHint)
                                  .batch(2)
                                  .prefetch(1);
  CHECK(transformed.options().distribute.auto_shard_policy == AutoShardPolicy::kOff);
  CHECK(transformed.auto_shard(2, 0).options().distribute.auto_shard_policy == AutoShardPolicy::kOff);
  const Dataset later = with_policy(transformed, AutoShardPolicy::kData);
  CHECK(later.options().distribute.auto_shard_policy == AutoShardPolicy::kData);
  CHECK(later.fingerprint() == transformed.fingerprint());
}

TEST_CASE("policies have names", "[data][S50]") {
  CHECK(std::string(to_string(AutoShardPolicy::kAuto)) == "auto");
  CHECK(std::string(to_string(AutoShardPolicy::kFile)) == "file");
  CHECK(std::string(to_string(AutoShardPolicy::kData)) == "data");
  CHECK(std::string(to_string(AutoShardPolicy::kOff)) == "off");
  CHECK(std::string(to_string(AutoShardPolicy::kHint)) == "hint");
}

TEST_CASE("by data each worker takes every n-th batch", "[data][S10]") {
  const Dataset data = numbers(9).batch(2);
  const std::vector<Elements> wanted{{{0, 1}, {6, 7}}, {{2, 3}, {8}}, {{4, 5}}};
  CHECK(shards(with_policy(data, AutoShardPolicy::kData), 3) == wanted);
  CHECK(shards(data, 3) == wanted);  // kAuto, for want of files
  CHECK(data.auto_shard(3, 0).cardinality() == 2);
  CHECK(data.auto_shard(3, 2).cardinality() == 1);
  CHECK(data.auto_shard(3, 2).batched());
}

TEST_CASE("by data rows keep their random access", "[data][S10]") {
  const Dataset data = numbers(7).auto_shard(2, 1);
  CHECK(data.describe() == numbers(7).shard(2, 1).describe());
  CHECK(values_of(data) == std::vector<int64_t>{1, 3, 5});
}

TEST_CASE("fewer elements than workers are an error for every worker at the first read", "[data][S10]") {
  const Dataset batches = numbers(4).batch(2);
  const Dataset rows = numbers(2);
  const Dataset stream = Dataset::from_generator(counting(2));
  const Dataset none = numbers(0).batch(2);
  for (int64_t worker = 0; worker < 3; ++worker) {
    for (const Dataset& data : {batches, rows, stream}) {
      DatasetIterator iterator = data.auto_shard(3, worker).iterate();
      CHECK_FAILS(iterator.next(), ErrorKind::kInvalidArgument, "there are 2 elements for 3 workers");
    }
    CHECK_FAILS(none.auto_shard(3, worker).iterate().next(), ErrorKind::kInvalidArgument, "0 elements");
  }
}

TEST_CASE("a generator is sharded by data, and its shard can be restored", "[data][S10]") {
  const Dataset data = Dataset::from_generator(seekable(8)).batch(1).repeat(2).auto_shard(3, 0);
  const Elements whole = batches_of(data);
  CHECK(whole == Elements{{0}, {3}, {6}, {1}, {4}, {7}});
  for (int64_t cut = 0; cut <= 6; ++cut) {
    DatasetIterator first = data.iterate();
    read_x(first, cut);
    DatasetIterator second = data.iterate();
    second.restore(first.position());
    CHECK(second.epoch() == first.epoch());
    CHECK(second.rows_seen() == cut);
    CHECK(read_x(second) == Elements(whole.begin() + cut, whole.end()));
  }
}

TEST_CASE("the epoch is that of the worker's own element", "[data][S10]") {
  DatasetIterator iterator = numbers(2).repeat().batch(1).auto_shard(3, 1).iterate();
  std::vector<int64_t> epochs;
  for (int i = 0; i < 4; ++i) {
    REQUIRE(iterator.next());
    epochs.push_back(iterator.epoch());
  }
  CHECK(epochs == std::vector<int64_t>{0, 2, 3, 5});  // elements 1, 4, 7, 10
}

TEST_CASE("by file each worker repeats the transformations over its own files", "[data][S10]") {
  const TemporaryDirectory folder;
  const Dataset data = Dataset::from_csv(write_csv(folder, {2, 3, 4}));
  const Dataset batches = data.map([](Batch element) {
                                element.features.set("x", element.features["x"] + 100);
                                return element;
                              })
                              .batch(2);
  const std::vector<Elements> wanted{{{100, 101}, {120, 121}, {122, 123}}, {{110, 111}, {112}}};
  CHECK(shards(batches, 2) == wanted);
  CHECK(shards(with_policy(batches, AutoShardPolicy::kFile), 2) == wanted);
  const Elements by_data = shards(with_policy(batches, AutoShardPolicy::kData), 2)[0];
  CHECK(by_data == Elements{{100, 101}, {112, 120}, {123}});

  const Dataset own = data.auto_shard(2, 1);
  CHECK(own.cardinality() == 3);
  CHECK_THAT(own.describe(), Catch::Contains("part1.csv") && !Catch::Contains("part0.csv"));
  CHECK(own.iterate().next()->features.strings("name")[0] == "r0");
  CHECK(own.fingerprint() == Dataset::from_csv(folder.file("part1.csv")).fingerprint());
  CHECK(
      batches_of(data.shuffle({.seed = 3}).skip(1).take(9).shard(1, 0).repeat(2).prefetch(2).auto_shard(3, 1)).size() ==
      4);
}

TEST_CASE("the type of a column does not depend on the worker's files", "[data][S10]") {
  const TemporaryDirectory folder;
  const std::vector<std::string> paths{folder.file("a.csv"), folder.file("b.csv")};
  std::ofstream(paths[0]) << "x\n1\n";
  std::ofstream(paths[1]) << "x\n1.5\n";
  const Dataset data = Dataset::from_csv(paths, {.infer_integers = true});
  CHECK(data.auto_shard(2, 0).iterate().next()->features["x"].scalar_type() == at::kFloat);
  CHECK(data.auto_shard(2, 1).iterate().next()->features["x"].scalar_type() == at::kFloat);
}

TEST_CASE("fewer files than workers are an error that names both", "[data][S11]") {
  const TemporaryDirectory folder;
  const Dataset data = Dataset::from_csv(write_csv(folder, {4, 4})).batch(1);
  CHECK_FAILS(data.auto_shard(3, 0), ErrorKind::kInvalidArgument, "2 files for 3 workers");
  CHECK_FAILS(with_policy(data, AutoShardPolicy::kFile).auto_shard(3, 2), ErrorKind::kInvalidArgument,
              "AutoShardPolicy::kData or kOff");
  CHECK(shards(with_policy(data, AutoShardPolicy::kOff), 3)[2].size() == 8);
}

TEST_CASE("by file needs files", "[data][S10]") {
  const Dataset tensors = with_policy(numbers(8).batch(2), AutoShardPolicy::kFile);
  CHECK_FAILS(tensors.auto_shard(2, 0), ErrorKind::kNotFound, "the source is not files: tensors(");
  const Dataset generated = with_policy(Dataset::from_generator(counting(4)), AutoShardPolicy::kFile);
  CHECK_FAILS(generated.auto_shard(2, 0), ErrorKind::kNotFound, "generator(");
}

TEST_CASE("switched off, every worker reads everything", "[data][S10]") {
  const Dataset data = with_policy(numbers(3).batch(2), AutoShardPolicy::kOff);
  CHECK(shards(data, 2) == std::vector<Elements>{{{0, 1}, {2}}, {{0, 1}, {2}}});
  CHECK(data.auto_shard(2, 1).fingerprint() == data.fingerprint());
}

TEST_CASE("a hint is where the shard goes", "[data][S10]") {
  const Dataset data = with_policy(numbers(8).shard(kShardHint, kShardHint).batch(2), AutoShardPolicy::kHint);
  CHECK(shards(data, 2) == std::vector<Elements>{{{0, 2}, {4, 6}}, {{1, 3}, {5, 7}}});
  CHECK(data.auto_shard(2, 1).fingerprint() == numbers(8).shard(2, 1).batch(2).fingerprint());
  CHECK(batches_of(data.auto_shard(1, 0)).size() == 4);

  const Dataset without = with_policy(numbers(3).batch(2), AutoShardPolicy::kHint);
  CHECK(shards(without, 2) == std::vector<Elements>{{{0, 1}, {2}}, {{0, 1}, {2}}});
}

TEST_CASE("several hints are all replaced", "[data][S10]") {
  const Dataset data = with_policy(numbers(8).shard(kShardHint, kShardHint).repeat(2).shard(kShardHint, kShardHint),
                                   AutoShardPolicy::kHint);
  CHECK(values_of(data.auto_shard(2, 1)) == std::vector<int64_t>{3, 7, 3, 7});
}

TEST_CASE("a hint that nothing has replaced cannot be read", "[data][S10]") {
  const Dataset data = numbers(8).shard(kShardHint, kShardHint);
  CHECK(data.cardinality() == 8);
  for (const Dataset& unread : {data, data.batch(2), data.shuffle({.buffer_size = 3}), data.repeat(),
                                data.batch(1).auto_shard(2, 0), data.auto_shard(1, 0)}) {
    DatasetIterator iterator = unread.iterate();
    CHECK_FAILS(iterator.next(), ErrorKind::kFailedPrecondition, "kShardHint");
  }
  CHECK_FAILS(numbers(8).shard(kShardHint, 0), ErrorKind::kInvalidArgument, "the count is -1");
  CHECK_FAILS(numbers(8).shard(2, kShardHint), ErrorKind::kInvalidArgument, "the index is -1");
}

TEST_CASE("a lone worker reads everything", "[data][S10]") {
  for (const AutoShardPolicy policy : {AutoShardPolicy::kAuto, AutoShardPolicy::kFile, AutoShardPolicy::kData,
                                       AutoShardPolicy::kOff, AutoShardPolicy::kHint}) {
    CHECK(batches_of(with_policy(numbers(3).batch(2), policy).auto_shard(1, 0)) == Elements{{0, 1}, {2}});
  }
}

TEST_CASE("worker counts and indices are checked", "[data][S10]") {
  const Dataset data = with_policy(numbers(8), AutoShardPolicy::kOff);
  CHECK_FAILS(data.auto_shard(0, 0), ErrorKind::kInvalidArgument, "there are 0 workers");
  CHECK_FAILS(data.auto_shard(-1, 0), ErrorKind::kInvalidArgument, "there are -1 workers");
  CHECK_FAILS(data.auto_shard(2, 2), ErrorKind::kInvalidArgument, "the index is 2; 0 to 1");
  CHECK_FAILS(data.auto_shard(2, -1), ErrorKind::kInvalidArgument, "the index is -1");
}
