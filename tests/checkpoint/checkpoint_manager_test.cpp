#include "checkpoint/checkpoint_manager.h"

#include <filesystem>

#include "checkpoint/checkpoint_reader.h"
#include "tests/checkpoint/checkpoint_testing.h"
#include "tests/support/fault_injecting_file_system.h"
#include "tests/support/temporary_directory.h"

using namespace belfry;
using namespace belfry::testing;
using Catch::Contains;

namespace {

std::vector<int64_t> steps_of(const CheckpointManager& manager) {
  std::vector<int64_t> steps;
  for (const std::string& prefix : manager.all()) steps.push_back(*checkpoint_step(prefix));
  return steps;
}

std::vector<int64_t> steps_in_folder(const std::string& folder) {
  std::vector<int64_t> steps;
  for (const std::string& name : posix_file_system().list(folder)) {
    if (name.ends_with(".index")) steps.push_back(*checkpoint_step(name.substr(0, name.size() - 6)));
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

void cut(const std::string& path, size_t bytes) {
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - bytes);
}

}  // namespace

TEST_CASE("a directory without a checkpoint has none", "[checkpoint][E14]") {
  TemporaryDirectory folder;
  const CheckpointManager manager(folder.file("run"));
  CHECK_FALSE(manager.latest().prefix);
  CHECK(manager.latest().skipped.empty());
  CHECK(manager.all().empty());
  CHECK_FALSE(posix_file_system().exists(folder.file("run")));
}

TEST_CASE("a save names its files by the step, and the file checkpoint by the newest", "[checkpoint][E4][E14]") {
  TemporaryDirectory folder;
  CheckpointManager manager(folder.file("run"));
  CHECK(manager.save(0, sample_entries(0)) == folder.file("run/model.ckpt-0"));
  CHECK(manager.save(120, sample_entries(120)) == folder.file("run/model.ckpt-120"));
  CHECK(posix_file_system().list(folder.file("run")) ==
        std::vector<std::string>{"checkpoint", "model.ckpt-0.data-00000-of-00001", "model.ckpt-0.index",
                                 "model.ckpt-120.data-00000-of-00001", "model.ckpt-120.index"});
  CHECK_THAT(read_file(posix_file_system(), folder.file("run/checkpoint")),
             Contains("model_checkpoint_path: \"model.ckpt-120\""));
  const CheckpointManager other(folder.file("run"));
  CHECK(other.latest().prefix == folder.file("run/model.ckpt-120"));
  CHECK(holds(CheckpointReader(*other.latest().prefix), sample_entries(120)));
  CHECK(steps_of(other) == std::vector<int64_t>{0, 120});
}

TEST_CASE("the oldest are removed first, and 0 keeps all", "[checkpoint][E122]") {
  TemporaryDirectory folder;
  const int64_t keep = GENERATE(3, 0);
  for (const int64_t step : {0, 2, 4, 6, 8, 9}) {  // a manager each, as after restarts
    CheckpointManager(folder.path(), {.keep_checkpoint_max = keep}).save(step, sample_entries(step));
  }
  const std::vector<int64_t> expected =
      keep == 3 ? std::vector<int64_t>{6, 8, 9} : std::vector<int64_t>{0, 2, 4, 6, 8, 9};
  CHECK(steps_of(CheckpointManager(folder.path())) == expected);
  CHECK(steps_in_folder(folder.path()) == expected);
  CHECK(posix_file_system().list(folder.path()).size() == 1 + 2 * expected.size());
}

TEST_CASE("one in so many hours stays for ever", "[checkpoint]") {
  TemporaryDirectory folder;
  double hours = 1000;
  const CheckpointManagerOptions options{
      .keep_checkpoint_max = 1, .keep_checkpoint_every_n_hours = 2, .clock = [&] { return hours * 3600; }};
  for (int64_t step = 0; step < 8; ++step, hours += 0.75) {
    CheckpointManager(folder.path(), options).save(step, sample_entries(step));
  }
  CHECK(steps_in_folder(folder.path()) == std::vector<int64_t>{3, 6, 7});
}

TEST_CASE("saving a step again replaces it and makes it the newest", "[checkpoint][E4]") {
  TemporaryDirectory folder;
  CheckpointManager manager(folder.path());
  manager.save(3, sample_entries(3));
  manager.save(5, sample_entries(5));
  for (int64_t seed = 30; seed < 33; ++seed) {
    manager.save(3, sample_entries(seed));
    CHECK(manager.latest().prefix == folder.file("model.ckpt-3"));
    CHECK(holds(CheckpointReader(folder.file("model.ckpt-3")), sample_entries(seed)));
    CHECK(steps_of(manager) == std::vector<int64_t>{5, 3});
  }
}

TEST_CASE("what cannot be read is passed over, and it is said why", "[checkpoint]") {
  TemporaryDirectory folder;
  CheckpointManager manager(folder.path());
  for (int64_t step = 1; step <= 5; ++step) manager.save(step, sample_entries(step));
  cut(folder.file("model.ckpt-5.data-00000-of-00001"), 1);
  cut(folder.file("model.ckpt-4.index"), 1);
  posix_file_system().remove_file(folder.file("model.ckpt-3.data-00000-of-00001"));
  const LatestCheckpoint latest = manager.latest();
  CHECK(latest.prefix == folder.file("model.ckpt-2"));
  REQUIRE(latest.skipped.size() == 3);
  CHECK(latest.skipped[0].path == folder.file("model.ckpt-5"));
  CHECK_THAT(latest.skipped[0].reason, Contains("truncated"));
  CHECK_THAT(latest.skipped[1].reason, Contains("model.ckpt-4.index"));
  CHECK_THAT(latest.skipped[2].reason, Contains("missing"));
}

TEST_CASE("wrong bytes are found unless only sizes are asked for", "[checkpoint]") {
  TemporaryDirectory folder;
  CheckpointManager manager(folder.path());
  manager.save(1, sample_entries(1));
  manager.save(2, sample_entries(2));
  const std::string path = folder.file("model.ckpt-2.data-00000-of-00001");
  std::string bytes = read_file(posix_file_system(), path);
  bytes[0] = static_cast<char>(bytes[0] ^ 1);
  write_file_atomically(posix_file_system(), path, bytes);
  CHECK(manager.latest().prefix == folder.file("model.ckpt-1"));
  CHECK(manager.latest(false).prefix == folder.file("model.ckpt-2"));
}

TEST_CASE("without a readable file checkpoint the folder itself is looked at", "[checkpoint]") {
  TemporaryDirectory folder;
  CheckpointManager manager(folder.path());
  for (const int64_t step : {9, 10}) manager.save(step, sample_entries(step));
  const std::string state = folder.file("checkpoint");
  SECTION("it is gone") { posix_file_system().remove_file(state); }
  SECTION("it is damaged") { write_file_atomically(posix_file_system(), state, "\x7f\x7f"); }
  SECTION("it names what is not there") {
    write_file_atomically(posix_file_system(), state, "model_checkpoint_path: \"gone\"");
  }
  const LatestCheckpoint latest = manager.latest();
  CHECK(latest.prefix == folder.file("model.ckpt-10"));
  manager.save(11, sample_entries(11));
  CHECK(manager.latest().prefix == folder.file("model.ckpt-11"));
  CHECK(manager.latest().skipped.empty());
}

TEST_CASE("the file checkpoint may name an older one to go back to", "[checkpoint][E14]") {
  TemporaryDirectory folder;
  CheckpointManager manager(folder.path());
  for (const int64_t step : {1, 2}) manager.save(step, sample_entries(step));
  write_file_atomically(posix_file_system(), folder.file("checkpoint"), "model_checkpoint_path: \"model.ckpt-1\"");
  CHECK(manager.latest().prefix == folder.file("model.ckpt-1"));
}

TEST_CASE("files of another kind are no checkpoints and stay", "[checkpoint]") {
  TemporaryDirectory folder;
  for (const char* name : {"model.ckpt-x.index", "graph.pbtxt", "checkpoint_notes.tmp-1", "events.out.tfevents.1"}) {
    write_file_atomically(posix_file_system(), folder.file(name), "x");
  }
  CheckpointManager manager(folder.path(), {.keep_checkpoint_max = 1});
  CHECK_FALSE(manager.latest().prefix);
  manager.save(1, sample_entries(1));
  manager.save(2, sample_entries(2));
  CHECK(posix_file_system().list(folder.path()).size() == 4 + 3);
}

TEST_CASE("what a killed save left is removed by the next", "[checkpoint]") {
  TemporaryDirectory folder;
  for (const char* name : {"model.ckpt-4.index.tmp-17-0", "model.ckpt-4.data-00000-of-00001.tmp-17-1",
                           "checkpoint.tmp-17-3", "model.ckpt-4.data-00000-of-00001"}) {
    write_file_atomically(posix_file_system(), folder.file(name), "x");
  }
  CheckpointManager(folder.path()).save(5, sample_entries(5));
  CHECK(posix_file_system().list(folder.path()) ==
        std::vector<std::string>{"checkpoint", "model.ckpt-5.data-00000-of-00001", "model.ckpt-5.index"});
}

TEST_CASE("entries that are refused leave the directory as it was", "[checkpoint]") {
  TemporaryDirectory folder;
  CheckpointManager manager(folder.path());
  manager.save(1, sample_entries(1));
  const std::vector<std::string> before = posix_file_system().list(folder.path());
  CHECK_THROWS_WITH(manager.save(2, {{"x", at::ones({1})}, {"x", at::ones({1})}}), Contains("'x' comes twice"));
  CHECK_THROWS_WITH(manager.save(-1, {}), Contains("-1"));
  CHECK(posix_file_system().list(folder.path()) == before);
  CHECK_THROWS_WITH(CheckpointManager(folder.path(), {.keep_checkpoint_max = -2}), Contains("-2"));
  CHECK_THROWS_WITH(CheckpointManager(folder.path(), {.keep_checkpoint_every_n_hours = 0}), Contains("hours is 0"));
  CHECK_THROWS_WITH(CheckpointManager(""), Contains("no name"));
}

TEST_CASE("a removal that fails is told and tried again", "[checkpoint]") {
  TemporaryDirectory folder;
  FaultInjectingFileSystem files(posix_file_system());
  CheckpointManager manager(folder.path(), {.keep_checkpoint_max = 1}, files);
  manager.save(1, sample_entries(1));
  files.inject({.kind = FileOperation::kRemove, .path_part = "model.ckpt-1.index"});
  CHECK(kind_of([&] { manager.save(2, sample_entries(2)); }) == ErrorKind::kIo);
  CHECK(manager.latest().prefix == folder.file("model.ckpt-2"));
  manager.save(3, sample_entries(3));
  CHECK(steps_in_folder(folder.path()) == std::vector<int64_t>{3});
}

TEST_CASE("the step of a prefix is read from its end", "[checkpoint]") {
  CHECK(checkpoint_step("run-7/model.ckpt-120") == 120);
  CHECK_FALSE(checkpoint_step("run-7/model.ckpt"));
  CHECK_FALSE(checkpoint_step("model.ckpt-"));
  CHECK_FALSE(checkpoint_step("model.ckpt-12x"));
  CHECK_FALSE(checkpoint_step("model.ckpt-99999999999999999999"));
}
