#include "checkpoint/checkpoint_reader.h"

#include "checkpoint/checkpoint_writer.h"
#include "checkpoint/internal/bundle_index.h"
#include "checkpoint/internal/slice_key.h"
#include "tests/checkpoint/checkpoint_testing.h"
#include "tests/checkpoint/json_values.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/test_data.h"

using namespace belfry;
using namespace belfry::testing;
using Catch::Contains;

namespace {

const std::string kData = belfry::testing::test_data("checkpoint/data/");

void write_index(const std::string& prefix, const BundleIndex& index) {
  write_file_atomically(posix_file_system(), index_path(prefix), bundle_index_bytes(index));
}

// The index of sample_entries(1), for a test to change; the data are beside it.
BundleIndex sample_index(const std::string& prefix) {
  CheckpointWriter writer(prefix);
  for (const CheckpointEntry& entry : sample_entries(1)) writer.add(entry.name, entry.value);
  writer.finish();
  return read_bundle_index(posix_file_system(), prefix);
}

}  // namespace

TEST_CASE("a checkpoint of two shards with parts, strings and all types is read as TensorFlow reads it",
          "[checkpoint]") {
  const CheckpointReader reader(kData + "tf_partitioned");
  reader.verify();
  CHECK(difference(reader, read_json(kData + "tf_partitioned.values.json")) == "");
}

TEST_CASE("checkpoints of tf.estimator are read as TensorFlow reads them", "[checkpoint][E15]") {
  const std::string folder = belfry::testing::test_data("reference/tf_checkpoints/");
  CHECK(difference(CheckpointReader(folder + "iris_dnn_v1/model.ckpt-50"),
                   read_json(kData + "iris_dnn_v1.values.json")) == "");
  CHECK(difference(CheckpointReader(folder + "adult_wide_deep_v2/model.ckpt-40"),
                   read_json(kData + "adult_wide_deep_v2.values.json")) == "");
}

TEST_CASE("a variable is described without being read", "[checkpoint]") {
  const CheckpointReader reader(kData + "tf_partitioned");
  REQUIRE(reader.find("wide"));
  CHECK(reader.find("wide")->shape == std::vector<int64_t>{10, 6});
  CHECK(reader.find("wide")->dtype == at::kFloat);
  CHECK(reader.find("strings")->is_strings);
  CHECK_FALSE(reader.contains("wid"));
  CHECK_FALSE(reader.contains(""));
}

TEST_CASE("an unknown variable or one of the other kind is an error that says what there is", "[checkpoint][E15]") {
  TemporaryDirectory folder;
  sample_index(folder.file("a"));
  const CheckpointReader reader(folder.file("a"));
  CHECK(kind_of([&] { reader.tensor("none"); }) == ErrorKind::kNotFound);
  CHECK_THROWS_WITH(reader.tensor("none"),
                    Contains("'none'") && Contains(folder.file("a")) && Contains("'net/weight'"));
  CHECK_THROWS_WITH(reader.tensor("words"), Contains("'words'") && Contains("strings"));
  CHECK_THROWS_WITH(reader.strings("global_step"), Contains("'global_step'") && Contains("numbers"));
  CHECK(kind_of([&] { CheckpointReader(folder.file("none")); }) == ErrorKind::kNotFound);
}

TEST_CASE("a missing or short data file is told with its name and the variable", "[checkpoint]") {
  TemporaryDirectory folder;
  const std::string prefix = folder.file("a");
  sample_index(prefix);
  const std::string path = shard_path(prefix, 0, 1);
  const std::string bytes = read_file(posix_file_system(), path);
  write_file_atomically(posix_file_system(), path, bytes.substr(0, 10));
  CHECK_THROWS_WITH(CheckpointReader(prefix), Contains(path) && Contains("truncated") && Contains("'global_step'"));
  posix_file_system().remove_file(path);
  CHECK_THROWS_WITH(CheckpointReader(prefix), Contains(path) && Contains("missing"));
  CHECK(kind_of([&] { CheckpointReader reader(prefix); }) == ErrorKind::kDataLoss);
}

TEST_CASE("formats that cannot be read are refused by name", "[checkpoint]") {
  TemporaryDirectory folder;
  const std::string prefix = folder.file("a");
  BundleIndex index = sample_index(prefix);
  index.header.set_endianness(proto::BundleHeaderProto::BIG);
  write_index(prefix, index);
  CHECK_THROWS_WITH(CheckpointReader(prefix), Contains("big-endian"));
  index.header.set_endianness(proto::BundleHeaderProto::LITTLE);
  index.header.mutable_version()->set_min_consumer(2);
  write_index(prefix, index);
  CHECK_THROWS_WITH(CheckpointReader(prefix), Contains("version 2"));
  CHECK(kind_of([&] { CheckpointReader reader(prefix); }) == ErrorKind::kUnimplemented);
}

TEST_CASE("a type LibTorch does not have is listed and refused when it is read", "[checkpoint]") {
  TemporaryDirectory folder;
  const std::string prefix = folder.file("a");
  BundleIndex index = sample_index(prefix);
  index.entries["global_step"].set_dtype(proto::DT_VARIANT);
  write_index(prefix, index);
  const CheckpointReader reader(prefix);
  reader.verify();
  CHECK(reader.find("global_step")->dtype == at::ScalarType::Undefined);
  CHECK(kind_of([&] { reader.tensor("global_step"); }) == ErrorKind::kUnimplemented);
  CHECK(reader.tensor("net/weight").numel() == 6);
}

TEST_CASE("entries that cannot be are damage, and nothing is allocated for them", "[checkpoint]") {
  TemporaryDirectory folder;
  const std::string prefix = folder.file("a");
  BundleIndex index = sample_index(prefix);
  proto::BundleEntryProto& entry = index.entries["net/weight"];
  SECTION("a huge size") { entry.set_size(int64_t{1} << 60); }
  SECTION("a huge offset") { entry.set_offset(std::numeric_limits<int64_t>::max()); }
  SECTION("a negative offset") { entry.set_offset(-1); }
  SECTION("a huge shape") { entry.mutable_shape()->mutable_dim(0)->set_size(int64_t{1} << 50); }
  SECTION("a shape that overflows") {
    for (int i = 0; i < 4; ++i) entry.mutable_shape()->add_dim()->set_size(int64_t{1} << 40);
  }
  SECTION("an unknown size") { entry.mutable_shape()->mutable_dim(0)->set_size(-1); }
  SECTION("an unknown rank") { entry.mutable_shape()->set_unknown_rank(true); }
  SECTION("another type") { entry.set_dtype(proto::DT_DOUBLE); }
  SECTION("a shard that is not there") { entry.set_shard_id(1); }
  write_index(prefix, index);
  CHECK_THROWS_WITH(CheckpointReader(prefix), Contains("'net/weight'") && Contains(prefix));
  CHECK(kind_of([&] { CheckpointReader reader(prefix); }) == ErrorKind::kDataLoss);
}

TEST_CASE("parts that do not fill their variable are damage", "[checkpoint]") {
  TemporaryDirectory folder;
  const std::string prefix = folder.file("a");
  for (const std::string name :
       {"tf_partitioned.index", "tf_partitioned.data-00000-of-00002", "tf_partitioned.data-00001-of-00002"}) {
    write_file_atomically(posix_file_system(), prefix + name.substr(14), read_file(posix_file_system(), kData + name));
  }
  BundleIndex index = read_bundle_index(posix_file_system(), prefix);
  proto::BundleEntryProto& entry = index.entries["wide"];
  REQUIRE(entry.slices_size() == 3);
  std::string wanted;
  SECTION("one is not listed") {
    entry.mutable_slices()->RemoveLast();
    wanted = "do not fill";
  }
  SECTION("one is not there") {
    index.entries.erase(slice_key("wide", entry.slices(0)));
    wanted = "missing";
  }
  SECTION("one is listed twice") {
    *entry.add_slices() = entry.slices(1);
    wanted = "overlap";
  }
  SECTION("one has another rank") {
    entry.mutable_slices(0)->add_extent();
    wanted = "a part of it is missing";
  }
  SECTION("one has another type") {
    index.entries[slice_key("wide", entry.slices(0))].set_dtype(proto::DT_INT32);
    wanted = "another type or shape";
  }
  write_index(prefix, index);
  CHECK_THROWS_WITH(CheckpointReader(prefix), Contains("'wide'") && Contains(wanted));
}
