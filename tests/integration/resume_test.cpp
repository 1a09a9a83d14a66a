// Interrupted trainings end with the bits of an uninterrupted one. BELFRY_RESUME_KILLS sets how many kills there are
// for each training (10, or 3 of those whose model grows, when it is not set); BELFRY_RESUME_SEED repeats their
// moments.
#include <signal.h>  // NOLINT(modernize-deprecated-headers): SIGKILL

#include <chrono>
#include <random>
#include <thread>

#include "tests/testing.h"

#include "checkpoint/checkpoint_manager.h"
#include "checkpoint/checkpoint_reader.h"
#include "core/file_system.h"
#include "tests/integration/resume_testing.h"
#include "tests/support/sanitized.h"
#include "tests/support/temporary_directory.h"

using namespace belfry;
using namespace belfry::testing;
using Clock = std::chrono::steady_clock;

namespace {

constexpr int kMaxSteps = 700;  // twelve passes over the data

// Which training of resume_program: with how many towers, and whether it is one whose model grows late.
struct Training {
  int towers = 1;
  std::string variant = "";  // or "late", "replayed", "mirrored"

  bool grows() const { return variant == "late" || variant == "replayed"; }
};

std::vector<std::string> command(const std::string& directory, const Training& training, int checkpoint_steps = 7) {
  std::vector<std::string> words{BELFRY_RESUME_PROGRAM,
                                 BELFRY_DIGITS,
                                 directory,
                                 std::to_string(training.towers),
                                 std::to_string(kMaxSteps),
                                 std::to_string(checkpoint_steps)};
  if (!training.variant.empty()) words.push_back(training.variant);
  return words;
}

// Of the newest checkpoints; the run got to its end.
void check_whole(const std::string& directory, const std::string& expected_directory) {
  check_same_bits(directory, expected_directory);
  const CheckpointReader got(CheckpointManager(directory).latest().prefix.value());
  CHECK(got.tensor("global_step").item<int64_t>() == kMaxSteps);
  CHECK(got.contains("net/norm/running_mean"));
  CHECK(got.contains("training/Adam/net/hidden/weight/m"));
}

// One uninterrupted run, and how long it took.
struct Reference {
  explicit Reference(const Training& training) {
    const auto begin = Clock::now();
    REQUIRE(ChildProcess(command(dir.path(), training)).wait().code == 0);
    duration = Clock::now() - begin;
  }
  TemporaryDirectory dir;
  Clock::duration duration = {};
};

bool wait_for_checkpoint(ChildProcess& child, const std::string& directory) {
  while (child.running()) {
    if (posix_file_system().exists(join_path(directory, "checkpoint"))) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return false;
}

// Until the kills are used up, with a new directory whenever a run gets to its end.
void check_kills(const Training& training, int64_t kills) {
  const uint64_t seed = seed_of_kills();
  CAPTURE(training.towers, training.variant, seed);
  const Reference reference(training);
  const CheckpointReader whole(CheckpointManager(reference.dir.path()).latest().prefix.value());
  CHECK(whole.contains("training/Adam/late/weight/m") == training.grows());
  std::mt19937_64 random(seed);
  int64_t left = number_from("BELFRY_RESUME_KILLS", kills);
  while (left > 0) {
    const TemporaryDirectory dir;
    bool finished = false;
    while (!finished && left > 0) {
      ChildProcess child(command(dir.path(), training));
      if (killed_at_random(child, reference.duration, random)) {
        --left;
      } else {
        finished = true;
      }
    }
    if (!finished) REQUIRE(ChildProcess(command(dir.path(), training)).wait().code == 0);
    check_whole(dir.path(), reference.dir.path());
  }
}

}  // namespace

TEST_CASE("a training that is killed again and again ends with the bits of one that was not", "[resume][E3][E4]") {
  const int towers = GENERATE(1, 2);
  check_kills({.towers = towers}, repetitions(10));
}

TEST_CASE("so does one whose variables and slots appear late, with clipping and input from a generator",
          "[resume][E3][E4]") {
  const Training training{.towers = GENERATE(1, 2), .variant = "late"};
  check_kills(training, repetitions(3));
}

TEST_CASE("so does one whose generator cannot be restored and is replayed", "[resume][E3][E4]") {
  check_kills({.towers = GENERATE(1, 2), .variant = "replayed"}, repetitions(3));
}

TEST_CASE("so does one under a strategy", "[resume][distribute][E121]") {
  check_kills({.towers = 2, .variant = "mirrored"}, repetitions(5));
}

TEST_CASE("SIGINT and SIGTERM save, end the program cleanly, and the training goes on with the same bits",
          "[resume][E3][E4]") {
  const int towers = GENERATE(1, 2);
  const Training training{.towers = towers};
  const Reference reference(training);
  const TemporaryDirectory dir;
  CheckpointManager checkpoints(dir.path());
  int64_t step = 0;
  for (const int signal : {SIGINT, SIGTERM}) {
    CAPTURE(towers, signal, step);
    // No interval passes: what is saved is saved for the signal's sake.
    ChildProcess child(command(dir.path(), training, 100 * kMaxSteps));
    if (step == 0) {
      REQUIRE(wait_for_checkpoint(child, dir.path()));
    } else {
      std::this_thread::sleep_for(reference.duration / 2);
    }
    child.send(signal);
    const ExitStatus status = child.wait();
    if (status.signal != 0 && step > 0) continue;  // it came before train() was called
    REQUIRE(status.signal == 0);
    if (status.code == 0) break;  // it came after the last step
    REQUIRE(status.code == 3);
    const std::string newest = checkpoints.latest().prefix.value();
    CHECK(*checkpoint_step(newest) > step);
    step = *checkpoint_step(newest);
    CHECK_FALSE(CheckpointReader(newest).tensor("belfry/input/finished").item<bool>());
  }
  CHECK(step > 0);
  REQUIRE(ChildProcess(command(dir.path(), training)).wait().code == 0);
  check_whole(dir.path(), reference.dir.path());
}
