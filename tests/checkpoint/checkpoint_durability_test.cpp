// A save that fails, is killed or loses power at every single operation.
#include "checkpoint/checkpoint_manager.h"
#include "tests/checkpoint/checkpoint_testing.h"
#include "tests/support/fault_injecting_file_system.h"
#include "tests/support/temporary_directory.h"

using namespace belfry;
using namespace belfry::testing;

namespace {

enum class Death { kFails, kKilled, kPowerCutNothingElseSurvives, kPowerCutHalfSurvives, kPowerCutAllSurvives };

void die(FaultInjectingFileSystem& files, Death death) {
  const size_t entries = files.unsynced_directory_entries();
  switch (death) {
    case Death::kFails:
    case Death::kKilled:
      return files.revive();
    case Death::kPowerCutNothingElseSurvives:
      return files.crash(0);
    case Death::kPowerCutHalfSurvives:
      return files.crash(entries / 2);
    case Death::kPowerCutAllSurvives:
      return files.crash(entries);
  }
}

const CheckpointManagerOptions kOptions{.keep_checkpoint_max = 2};

// A directory with steps 1 and 2, and a save of `step` whose operation number `at` fails. False when it did not.
bool try_save(int64_t at, int64_t step, Death death) {
  INFO("operation " << at << ", step " << step << ", death " << static_cast<int>(death));
  TemporaryDirectory folder;
  FaultInjectingFileSystem files(posix_file_system());
  {
    CheckpointManager manager(folder.path(), kOptions, files);
    manager.save(1, sample_entries(1));
    manager.save(2, sample_entries(2));
  }
  const int64_t seed = step + 100;
  bool saved = false;
  files.inject({.at = at, .process_dies = death != Death::kFails});
  try {
    CheckpointManager(folder.path(), kOptions, files).save(step, sample_entries(seed));
    saved = true;
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kIo);
  }
  const bool happened = files.fault_happened();
  die(files, death);

  CheckpointManager manager(folder.path(), kOptions, files);
  const LatestCheckpoint latest = manager.latest();
  REQUIRE(latest.prefix);
  CHECK(latest.skipped.empty());
  const CheckpointReader reader(*latest.prefix, files);
  const bool is_new = holds(reader, sample_entries(seed));
  const bool is_old = *latest.prefix == folder.file("model.ckpt-2") && holds(reader, sample_entries(2));
  CHECK((is_new || (is_old && !saved)));

  manager.save(9, sample_entries(9));  // goes on, and cleans up
  CHECK(holds(CheckpointReader(*manager.latest().prefix, files), sample_entries(9)));
  for (const std::string& name : files.list(folder.path())) CHECK_THAT(name, !Catch::Contains(".tmp-"));
  return happened;
}

}  // namespace

TEST_CASE("a save that dies at any operation leaves the checkpoint before or the new one", "[checkpoint][E4]") {
  const Death death = GENERATE(Death::kFails, Death::kKilled, Death::kPowerCutNothingElseSurvives,
                               Death::kPowerCutHalfSurvives, Death::kPowerCutAllSurvives);
  const int64_t step = GENERATE(3, 2);  // a new step, and one that is there already
  int64_t operations = 0;
  while (try_save(operations, step, death)) ++operations;
  CHECK(operations > 25);
}

TEST_CASE("a first save that dies at any operation leaves no checkpoint or the new one", "[checkpoint]") {
  bool happened = true;
  for (int64_t at = 0; happened; ++at) {
    TemporaryDirectory folder;
    FaultInjectingFileSystem files(posix_file_system());
    files.inject({.at = at, .process_dies = true});
    kind_of([&] { CheckpointManager(folder.file("run"), kOptions, files).save(1, sample_entries(1)); });
    happened = files.fault_happened();
    files.crash(files.unsynced_directory_entries() / 2);
    const LatestCheckpoint latest = CheckpointManager(folder.file("run"), kOptions, files).latest();
    CHECK(latest.skipped.empty());
    if (latest.prefix) CHECK(holds(CheckpointReader(*latest.prefix, files), sample_entries(1)));
    if (!happened) CHECK(latest.prefix);
  }
}

TEST_CASE("the double forgets what was not synced", "[checkpoint]") {
  TemporaryDirectory folder;
  FaultInjectingFileSystem files(posix_file_system());
  const auto file = files.create(folder.file("a"));
  files.sync_directory(folder.path());
  file->append("kept");
  file->sync();
  file->append("lost");
  file->close();
  write_file_atomically(posix_file_system(), folder.file("b"), "old");
  files.rename(folder.file("a"), folder.file("b"));
  files.crash();
  CHECK(read_file(files, folder.file("a")) == "kept");
  CHECK(read_file(files, folder.file("b")) == "old");
}
