#include "core/log.h"

#include <thread>
#include <utility>
#include <vector>

#include "tests/testing.h"

using belfry::LogLevel;

namespace {

// Collects messages until it goes.
class CapturedLog {
 public:
  CapturedLog() {
    before_ = belfry::set_log_sink([this](LogLevel level, std::string_view message) {
      messages_.emplace_back(belfry::concat(belfry::to_string(level), ": ", message));
    });
  }
  ~CapturedLog() {
    belfry::set_log_sink(std::move(before_));
    belfry::set_log_level(LogLevel::kInfo);
  }
  const std::vector<std::string>& messages() const { return messages_; }

 private:
  belfry::LogSink before_;
  std::vector<std::string> messages_;
};

struct CountsWhenWritten {
  int* count;
};
std::ostream& operator<<(std::ostream& out, const CountsWhenWritten& part) { return out << ++*part.count; }

}  // namespace

TEST_CASE("messages go to the sink with their level", "[log]") {
  const CapturedLog log;
  belfry::log_info("step ", 3, " of ", 10);
  belfry::log_warning("the input ended");
  CHECK(log.messages() == std::vector<std::string>{"INFO: step 3 of 10", "WARNING: the input ended"});
}

TEST_CASE("messages below the level are dropped and not even put together", "[log]") {
  const CapturedLog log;
  int written = 0;
  CHECK(belfry::set_log_level(LogLevel::kWarning) == LogLevel::kInfo);
  belfry::log_info("value ", CountsWhenWritten{&written});
  belfry::log_warning("kept");
  belfry::set_log_level(LogLevel::kOff);
  belfry::log_warning("dropped");
  CHECK(written == 0);
  CHECK(log.messages() == std::vector<std::string>{"WARNING: kept"});
}

TEST_CASE("a sink is given back when another takes its place", "[log]") {
  const CapturedLog outer;
  {
    const CapturedLog inner;
    belfry::log_info("inside");
    CHECK(inner.messages().size() == 1);
  }
  belfry::log_info("outside");
  CHECK(outer.messages() == std::vector<std::string>{"INFO: outside"});
}

TEST_CASE("a sink may log", "[log]") {
  const CapturedLog outer;
  std::vector<std::string> seen;
  const auto before = belfry::set_log_sink([&](LogLevel, std::string_view message) {
    seen.emplace_back(message);
    if (seen.size() == 1) belfry::log_info("again");
  });
  belfry::log_info("first");
  belfry::set_log_sink(before);
  CHECK(seen == std::vector<std::string>{"first", "again"});
}

TEST_CASE("threads log one at a time, and no message is lost", "[log]") {
  const CapturedLog log;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < 250; ++i) belfry::log_info("message ", i);
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(log.messages().size() == 1000);
}
