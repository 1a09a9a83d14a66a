// The example of the DNNClassifier, killed and started again by the same command, ends as if it had not been: same
// checkpoint, same report. BELFRY_RESUME_KILLS sets how many kills there are, 5 when it is not set.
#include <chrono>
#include <random>
#include <sstream>

#include "tests/testing.h"

#include "core/file_system.h"
#include "tests/integration/resume_testing.h"
#include "tests/support/sanitized.h"
#include "tests/support/temporary_directory.h"

using namespace belfry;
using namespace belfry::testing;
using Clock = std::chrono::steady_clock;

namespace {

// A folder with all that the command writes.
class Example {
 public:
  std::vector<std::string> command() const {
    // Replaced by the program itself, so that a signal to the child is one to the program.
    return {"/bin/sh",
            "-c",
            "exec \"$@\" > \"$0\"",
            folder_.file("report"),
            BELFRY_EXAMPLE_PROGRAM,
            "--data",
            BELFRY_DIGITS,
            "--model_dir",
            model_dir(),
            "--export_dir",
            folder_.file("exports")};
  }
  void run() const { REQUIRE(ChildProcess(command()).wait().code == 0); }

  std::string model_dir() const { return folder_.file("model"); }
  // What the last run printed of accuracy, loss and probabilities.
  std::string report() const {
    std::istringstream lines(read_file(posix_file_system(), folder_.file("report")));
    std::string kept;
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("of ") || line.starts_with("digit ")) kept += line + "\n";
    }
    return kept;
  }

 private:
  TemporaryDirectory folder_;
};

}  // namespace

TEST_CASE("the DNNClassifier's example program, killed and started again, ends with the same bits and the same report",
          "[resume][canned][E3][E4]") {
  const Example whole;
  const Clock::time_point begin = Clock::now();
  whole.run();
  const Clock::duration duration = Clock::now() - begin;
  REQUIRE_THAT(whole.report(), Catch::Contains("of 360 digits held back: accuracy 0.9"));

  const uint64_t seed = seed_of_kills();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  int64_t left = number_from("BELFRY_RESUME_KILLS", repetitions(5));
  while (left > 0) {
    const Example killed;
    for (bool was_killed = true; was_killed && left > 0; left -= was_killed) {
      ChildProcess child(killed.command());
      was_killed = killed_at_random(child, duration, random);
    }
    killed.run();
    check_same_bits(killed.model_dir(), whole.model_dir());
    CHECK(killed.report() == whole.report());
    // Once more after the end: nothing is trained, and nothing changes.
    killed.run();
    check_same_bits(killed.model_dir(), whole.model_dir());
    CHECK(killed.report() == whole.report());
  }
}
