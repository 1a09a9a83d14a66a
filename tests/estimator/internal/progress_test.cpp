#include "estimator/internal/progress.h"

#include <vector>

#include "core/error.h"
#include "core/log.h"
#include "tests/testing.h"

using belfry::internal::Progress;
using belfry::internal::ProgressOptions;
using Catch::Contains;

namespace {

// A clock that tests turn, and what was printed.
struct Desk {
  double time = 100;
  std::vector<std::string> lines;

  Progress progress(ProgressOptions options) {
    options.clock = [this] { return time; };
    options.print = [this](std::string_view text) { lines.emplace_back(text); };
    return Progress(std::move(options));
  }

  void run(Progress& progress, int64_t first, int64_t last, double seconds_a_step, int64_t rows = 32) {
    for (int64_t step = first; step <= last; ++step) {
      time += seconds_a_step;
      progress.update(step, 0.5, rows);
    }
  }
};

}  // namespace

TEST_CASE("off a terminal a line comes every so many steps, with speeds since the one before", "[progress][E44]") {
  Desk desk;
  Progress progress = desk.progress({.last_step = 400, .log_every = 100});
  desk.run(progress, 1, 100, 0.5);
  REQUIRE(desk.lines.size() == 1);
  CHECK(desk.lines[0] == "step 100 of 400, loss 0.5, 2.00 steps/s, 64.0 rows/s, 2:30 left");
  desk.run(progress, 101, 250, 0.01);
  REQUIRE(desk.lines.size() == 2);
  CHECK(desk.lines[1] == "step 200 of 400, loss 0.5, 100 steps/s, 3200 rows/s, 0:02 left");
}

TEST_CASE("a resumed training counts from its global step", "[progress]") {
  Desk desk;
  Progress progress = desk.progress({.last_step = 1100, .first_step = 1000, .log_every = 50});
  desk.run(progress, 1001, 1050, 1);
  REQUIRE(desk.lines.size() == 1);
  CHECK_THAT(desk.lines[0], Contains("step 1050 of 1100") && Contains("1.00 steps/s") && Contains("0:50 left"));
}

TEST_CASE("without a last step there is no time left to tell", "[progress]") {
  Desk desk;
  Progress progress = desk.progress({.log_every = 10});
  desk.run(progress, 1, 10, 1e-5, 4096);
  REQUIRE(desk.lines.size() == 1);
  CHECK_THAT(desk.lines[0], Contains("step 10, loss") && Contains("100.0k steps/s") && Contains("409.60M rows/s"));
  CHECK_THAT(desk.lines[0], !Contains("left"));
}

TEST_CASE("on a terminal one line renews itself ten times a second", "[progress]") {
  Desk desk;
  Progress progress = desk.progress({.last_step = 1000, .terminal = true});
  desk.run(progress, 1, 100, 0.01);
  CHECK(desk.lines.size() >= 9);
  CHECK(desk.lines.size() <= 11);
  for (const std::string& line : desk.lines) {
    CHECK(line.front() == '\r');
    CHECK_THAT(line, !Contains("\n"));
  }
}

TEST_CASE("on a terminal the speed is that of the last seconds", "[progress]") {
  Desk desk;
  Progress progress = desk.progress({.terminal = true});
  desk.run(progress, 1, 10, 1);
  desk.run(progress, 11, 1010, 0.01);
  CHECK_THAT(desk.lines.back(), Contains("100 steps/s") || Contains("100.0 steps/s"));
}

TEST_CASE("the last line states why the training ended and does not claim all steps", "[progress][I10]") {
  const bool terminal = GENERATE(false, true);
  Desk desk;
  Progress progress = desk.progress({.last_step = 1000, .log_every = 50, .terminal = terminal});
  desk.run(progress, 1, 70, 1);
  progress.done("the input ended");
  progress.done("the input ended");
  CHECK_THAT(desk.lines.back(),
             Contains("ended at step 70 of 1000: the input ended") && Contains("(1:10, 1.00 steps/s"));
  CHECK((desk.lines.back().back() == '\n') == terminal);
  CHECK_THAT(desk.lines[desk.lines.size() - 2], !Contains("ended"));
}

TEST_CASE("a loss is read only when a line is due", "[progress]") {
  Desk desk;
  Progress progress = desk.progress({.log_every = 10});
  int reads = 0;
  for (int step = 1; step <= 25; ++step)
    progress.update(step, 8, [&] {
      ++reads;
      return 1.0;
    });
  CHECK(reads == 2);
}

TEST_CASE("no steps between lines means only the last line, and a negative number is refused", "[progress]") {
  Desk desk;
  Progress progress = desk.progress({.log_every = 0});
  desk.run(progress, 1, 300, 1);
  CHECK(desk.lines.empty());
  progress.done("steps were done");
  CHECK(desk.lines.size() == 1);
  CHECK_THROWS_WITH(desk.progress({.log_every = -5}), Contains("log_step_count_steps") && Contains("-5"));
}

TEST_CASE("lines go to the log when no output is given", "[progress]") {
  std::vector<std::string> messages;
  const auto before = belfry::set_log_sink([&](belfry::LogLevel, std::string_view m) { messages.emplace_back(m); });
  Progress(ProgressOptions{}).done("an exception");
  belfry::set_log_sink(before);
  REQUIRE(messages.size() == 1);
  CHECK_THAT(messages[0], Contains("ended at step 0: an exception"));
}
