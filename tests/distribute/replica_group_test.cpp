#include "distribute/replica_group.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "core/error.h"
#include "core/log.h"
#include "tests/support/tower_check.h"
#include "tests/testing.h"

using belfry::Error;
using belfry::ErrorKind;
using belfry::ReplicaGroup;
using Catch::Contains;

namespace {

struct OwnError {
  int tower;
};

// Collects the log while it lives.
class LogLines {
 public:
  LogLines() {
    before_ =
        belfry::set_log_sink([this](belfry::LogLevel, std::string_view line) { text_ += std::string(line) + '\n'; });
  }
  ~LogLines() { belfry::set_log_sink(before_); }
  const std::string& text() const { return text_; }

 private:
  belfry::LogSink before_;
  std::string text_;
};

}  // namespace

TEST_CASE("every replica runs once, the first on the caller's thread", "[replica_group]") {
  ReplicaGroup group(4);
  for (int step = 0; step < 20; ++step) {
    std::vector<std::thread::id> threads(4);
    group.run(4, [&](int replica) { threads[static_cast<size_t>(replica)] = std::this_thread::get_id(); });
    CHECK(threads[0] == std::this_thread::get_id());
    for (size_t i = 1; i < 4; ++i) {
      for (size_t j = 0; j < i; ++j) CHECK(threads[i] != threads[j]);
    }
  }
}

TEST_CASE("only the active replicas run", "[replica_group]") {
  ReplicaGroup group(3);
  for (int active = 1; active <= 3; ++active) {
    std::atomic<int> sum = 0;
    group.run(active, [&](int replica) { sum += 1 << replica; });
    CHECK(sum == (1 << active) - 1);
  }
  CHECK_THROWS_WITH(group.run(4, [](int) {}), Contains("4") && Contains("3"));
  CHECK_THROWS_WITH(group.run(0, [](int) {}), Contains("0 active"));
  CHECK_THROWS_WITH(ReplicaGroup(0), Contains("0 replicas"));
}

TEST_CASE("the lowest replica that failed by itself is rethrown as it was thrown, and logged", "[replica_group]") {
  ReplicaGroup group(4);
  const LogLines log;
  for (int step = 0; step < 20; ++step) {
    try {
      group.run(4, [&](int replica) {
        if (replica >= 2) throw OwnError{replica};
        group.rendezvous().exchange(replica, "x", at::ones({1}));
      });
      FAIL("nothing was thrown");
    } catch (const OwnError& error) {
      CHECK(error.tower >= 2);
    }
  }
  CHECK_THAT(log.text(), Contains("tower 2 failed"));
}

TEST_CASE("a failure that calls itself aborted is found among those that it stopped", "[replica_group]") {
  ReplicaGroup group(3);
  const LogLines log;
  for (int failing = 0; failing < 3; ++failing) {
    CHECK_THROWS_WITH(group.run(3,
                                [&](int replica) {
                                  if (replica == failing) belfry::fail(ErrorKind::kAborted, "the user said stop");
                                  group.rendezvous().exchange(replica, "x", at::ones({1}));
                                }),
                      "the user said stop");
  }
}

TEST_CASE("a replica that throws an error of its own because it was stopped does not hide the cause",
          "[replica_group]") {
  ReplicaGroup group(3);
  const LogLines log;
  for (int failing = 0; failing < 3; ++failing) {
    CHECK_THROWS_WITH(group.run(3,
                                [&](int replica) {
                                  if (replica == failing) throw std::runtime_error("the cause");
                                  try {
                                    group.rendezvous().exchange(replica, "x", at::ones({1}));
                                  } catch (const belfry::Error&) {
                                    throw std::logic_error("something went wrong");
                                  }
                                }),
                      "the cause");
  }
  CHECK_THAT(log.text(), Contains("tower 0 failed: the cause") && Contains("tower 2 failed: the cause"));
}

TEST_CASE("a group is usable after failures, and waits for all replicas to end", "[replica_group]") {
  ReplicaGroup group(3);
  const LogLines log;
  for (int step = 0; step < 50; ++step) {
    std::atomic<int> ended = 0;
    CHECK_THROWS_AS(group.run(3,
                              [&](int replica) {
                                ++ended;
                                if (replica == step % 3) throw std::logic_error("no");
                              }),
                    std::logic_error);
    CHECK(ended == 3);
    group.run(3, [&](int replica) { group.rendezvous().exchange(replica, "x", at::ones({1})); });
  }
}

TEST_CASE("more replicas than cores work together", "[replica_group]") {
  const int replicas = static_cast<int>(std::thread::hardware_concurrency()) + 3;
  ReplicaGroup group(replicas);
  for (int step = 0; step < 20; ++step) {
    group.run(replicas, [&](int replica) {
      TOWER_CHECK(group.rendezvous().exchange(replica, "x", at::ones({1})).size() == static_cast<size_t>(replicas));
    });
  }
}

TEST_CASE("replicas have the caller's grad mode, inference mode and autocast", "[replica_group]") {
  ReplicaGroup group(2);
  group.run(2, [](int) { TOWER_CHECK(at::GradMode::is_enabled() && !at::autocast::is_autocast_enabled(at::kCPU)); });
  {
    const at::NoGradGuard no_grad;
    group.run(2, [](int) { TOWER_CHECK(!at::GradMode::is_enabled()); });
  }
  {
    const c10::InferenceMode inference;
    group.run(2, [](int) { TOWER_CHECK(at::ones({1}).is_inference()); });
  }
  at::autocast::set_autocast_enabled(at::kCPU, true);
  group.run(2, [](int) { TOWER_CHECK(at::autocast::is_autocast_enabled(at::kCPU)); });
  at::autocast::set_autocast_enabled(at::kCPU, false);
  group.run(2, [](int) { TOWER_CHECK(at::GradMode::is_enabled() && !at::autocast::is_autocast_enabled(at::kCPU)); });
}

TEST_CASE("a replica that leaves its modes changed does not change the next step's", "[replica_group]") {
  ReplicaGroup group(2);
  group.run(2, [](int) { at::GradMode::set_enabled(false); });
  CHECK(at::GradMode::is_enabled());
  group.run(2, [](int) { TOWER_CHECK(at::GradMode::is_enabled()); });
}

TEST_CASE("the process's number of threads stays as it was", "[replica_group]") {
  const int before = at::get_num_threads();
  ReplicaGroup group(2);
  group.run(2, [](int) { at::ones({256, 256}).matmul(at::ones({256, 256})); });
  CHECK(at::get_num_threads() == before);
  int elsewhere = 0;
  std::thread([&] { elsewhere = at::get_num_threads(); }).join();
  CHECK(elsewhere == before);
  try {
    group.run(2, [](int) { throw OwnError{0}; });
  } catch (const OwnError&) {
  }
  CHECK(at::get_num_threads() == before);
}

TEST_CASE("replicas share the cores out for their operations", "[replica_group]") {
  const int replicas = static_cast<int>(std::thread::hardware_concurrency());
  if (replicas < 2) return;
  ReplicaGroup group(replicas);
  group.run(replicas, [](int) { TOWER_CHECK(at::get_num_threads() == 1); });
}

TEST_CASE("an inner group inside a replica works", "[replica_group]") {
  ReplicaGroup group(2);
  std::atomic<int> ran = 0;
  group.run(2, [&](int) {
    ReplicaGroup inner(2);
    inner.run(2, [&](int replica) {
      inner.rendezvous().exchange(replica, "x", at::ones({1}));
      ++ran;
    });
  });
  CHECK(ran == 4);
}
