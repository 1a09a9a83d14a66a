#include "distribute/rendezvous.h"

#include <ATen/ATen.h>

#include <atomic>
#include <functional>
#include <random>
#include <stdexcept>

#include "core/error.h"
#include "core/log.h"
#include "distribute/replica_group.h"
#include "tests/support/sanitized.h"
#include "tests/support/tower_check.h"
#include "tests/testing.h"

using belfry::CallSite;
using belfry::Error;
using belfry::ErrorKind;
using belfry::Rendezvous;
using belfry::ReplicaGroup;
using Catch::Contains;

namespace {

CallSite site(uint32_t line, int64_t occurrence = 0) {
  CallSite at;
  at.file = "model.cpp";
  at.line = line;
  at.occurrence = occurrence;
  return at;
}

// Runs `work` in every tower; the message that each ended with, empty for none.
std::vector<std::string> messages(ReplicaGroup& group, const std::function<void(int)>& work) {
  std::vector<std::string> all(static_cast<size_t>(group.size()));
  group.run(group.size(), [&](int tower) {
    try {
      work(tower);
    } catch (const Error& error) {
      TOWER_CHECK(error.kind() == ErrorKind::kFailedPrecondition);
      all[static_cast<size_t>(tower)] = error.what();
    }
  });
  return all;
}

}  // namespace

TEST_CASE("a sum is over all towers and the same in each", "[rendezvous]") {
  ReplicaGroup group(3);
  group.run(3, [&](int tower) {
    TOWER_CHECK(group.rendezvous().sum(tower, site(1), tower + 1) == 6);
    TOWER_CHECK(group.rendezvous().sum(tower, site(2), 10 * tower) == 30);
  });
}

TEST_CASE("a tower that skips a loss counts as zero there", "[rendezvous]") {
  ReplicaGroup group(3);
  group.run(3, [&](int tower) {
    if (tower != 1) TOWER_CHECK(group.rendezvous().sum(tower, site(10), tower + 1) == 4);
    TOWER_CHECK(group.rendezvous().sum(tower, site(20), 1) == 3);
  });
}

TEST_CASE("a tower that has returned counts as zero", "[rendezvous]") {
  ReplicaGroup group(2);
  group.run(2, [&](int tower) {
    if (tower == 1) return;
    TOWER_CHECK(group.rendezvous().sum(tower, site(10), 5) == 5);
  });
  group.run(2, [&](int tower) {
    if (tower == 0) TOWER_CHECK(group.rendezvous().sum(tower, site(10), 5) == 5);
    group.rendezvous().leave_sums(tower);
    TOWER_CHECK(group.rendezvous().exchange(tower, "gradients", at::ones({1})).size() == 2);
  });
}

TEST_CASE("loops of different lengths meet by occurrence", "[rendezvous]") {
  ReplicaGroup group(2);
  group.run(2, [&](int tower) {
    for (int64_t i = 0; i < 2 + 3 * tower; ++i) {
      TOWER_CHECK(group.rendezvous().sum(tower, site(10, i), 1) == (i < 2 ? 2 : 1));
    }
    TOWER_CHECK(group.rendezvous().sum(tower, site(20), 1) == 2);
  });
}

TEST_CASE("a loss that one tower skips in a round of a loop does not let it run ahead", "[rendezvous]") {
  ReplicaGroup group(2);
  for (int step = 0; step < 2; ++step) {
    group.run(2, [&](int tower) {
      for (int64_t i = 0; i < 3; ++i) {
        TOWER_CHECK(group.rendezvous().sum(tower, site(10, i), 1) == 2);
        if (tower == 1) TOWER_CHECK(group.rendezvous().sum(tower, site(11, i), 1) == 1);
      }
      TOWER_CHECK(group.rendezvous().sum(tower, site(20), 1) == 2);
    });
  }
}

TEST_CASE("a loop that was longer before ends before what follows it", "[rendezvous]") {
  ReplicaGroup group(2);
  const auto loops = [&](int64_t first_tower, int64_t second_tower) {
    group.run(2, [&](int tower) {
      for (int64_t i = 0; i < (tower == 0 ? first_tower : second_tower); ++i) {
        group.rendezvous().sum(tower, site(10, i), 1);
      }
      TOWER_CHECK(group.rendezvous().sum(tower, site(20), 1) == 2);
    });
  };
  loops(3, 4);
  loops(1, 3);
  loops(2, 1);
}

TEST_CASE("the order of losses in different files is that of earlier steps", "[rendezvous]") {
  CallSite header = site(5);
  header.file = "z.h";
  ReplicaGroup group(2);
  const auto step = [&](bool both) {
    group.run(2, [&](int tower) {
      if (both || tower == 0) TOWER_CHECK(group.rendezvous().sum(tower, header, 1) == (both ? 2 : 1));
      TOWER_CHECK(group.rendezvous().sum(tower, site(10), 1) == 2);
    });
  };
  step(true);
  step(false);
}

TEST_CASE("a tower that comes to a loss after the others went past it is told so", "[rendezvous]") {
  ReplicaGroup group(2);
  const auto said = messages(group, [&](int tower) {
    if (tower == 0) {
      group.rendezvous().sum(0, site(10), 1);
      group.rendezvous().sum(0, site(20), 1);
    } else {
      group.rendezvous().sum(1, site(20), 1);
      group.rendezvous().sum(1, site(10), 1);
    }
  });
  CHECK(said[0].empty());
  CHECK_THAT(said[1], Contains("tower 1") && Contains("model.cpp:10"));
}

TEST_CASE("an exchange gives every tower's value in tower order", "[rendezvous]") {
  ReplicaGroup group(3);
  group.run(3, [&](int tower) {
    const auto values = group.rendezvous().exchange(tower, "x", at::full({2}, tower));
    TOWER_CHECK(values.size() == 3);
    for (int i = 0; i < 3; ++i) TOWER_CHECK(values[static_cast<size_t>(i)][0].item<int>() == i);
  });
}

TEST_CASE("towers that exchange different things are told both", "[rendezvous]") {
  ReplicaGroup group(2);
  const auto said = messages(group, [&](int tower) {
    group.rendezvous().exchange(tower, tower == 0 ? "all_reduce at a.cpp:3" : "gather at a.cpp:9", at::ones({1}));
  });
  for (const std::string& message : said) {
    CHECK_THAT(message, Contains("all_reduce at a.cpp:3") && Contains("gather at a.cpp:9") && Contains("tower 1"));
  }
}

TEST_CASE("an exchange that one tower returns without is an error in the others", "[rendezvous]") {
  ReplicaGroup group(3);
  const auto said = messages(group, [&](int tower) {
    if (tower != 1) group.rendezvous().exchange(tower, "all_reduce", at::ones({1}));
  });
  CHECK(said[1].empty());
  CHECK_THAT(said[0], Contains("tower 1") && Contains("all_reduce"));
  CHECK_THAT(said[2], Contains("tower 1") && Contains("all_reduce"));
}

TEST_CASE("a sum in one tower and an exchange in the other end in an error, not in a hang", "[rendezvous]") {
  ReplicaGroup group(2);
  const auto said = messages(group, [&](int tower) {
    if (tower == 0) TOWER_CHECK(group.rendezvous().sum(0, site(10), 4) == 4);
    if (tower == 1) group.rendezvous().exchange(1, "all_reduce", at::ones({1}));
  });
  CHECK(said[0].empty());
  CHECK_THAT(said[1], Contains("tower 0 has returned"));
}

TEST_CASE("a failure ends every wait, also those that begin later", "[rendezvous]") {
  ReplicaGroup group(3);
  std::atomic<int> stopped = 0;
  CHECK_THROWS_WITH(group.run(3,
                              [&](int tower) {
                                if (tower == 2) throw std::runtime_error("out of paper");
                                for (int i = 0; i < 2; ++i) {
                                  try {
                                    group.rendezvous().sum(tower, site(1, i), 1);
                                    TOWER_CHECK(!"the sum was completed");
                                  } catch (const Error& error) {
                                    if (error.kind() == ErrorKind::kAborted) ++stopped;
                                  }
                                }
                              }),
                    "out of paper");
  CHECK(stopped == 4);
}

TEST_CASE("towers that sit a step out are not waited for", "[rendezvous]") {
  ReplicaGroup group(4);
  group.run(2, [&](int tower) {
    TOWER_CHECK(group.rendezvous().sum(tower, site(1), 1) == 2);
    TOWER_CHECK(group.rendezvous().exchange(tower, "x", at::ones({1})).size() == 2);
  });
}

namespace {

// What one tower does in a random step: some of the sites, in order, perhaps an end by exception.
struct Plan {
  std::vector<std::vector<bool>> passes;  // by tower, by site
  int thrower = -1;
  size_t throws_before = 0;

  Plan(std::mt19937& random, int towers, size_t sites) : passes(static_cast<size_t>(towers)) {
    for (auto& mine : passes) {
      for (size_t s = 0; s < sites; ++s) mine.push_back(random() % 4 != 0);
    }
    if (random() % 5 == 0) {
      thrower = static_cast<int>(random() % static_cast<unsigned>(towers));
      throws_before = random() % sites;
    }
  }

  double sum(size_t at) const {
    double sum = 0;
    for (size_t t = 0; t < passes.size(); ++t) sum += passes[t][at] ? static_cast<double>((t + 1) * (at + 1)) : 0.0;
    return sum;
  }
};

int run_random_steps(int towers, int steps) {
  constexpr size_t kSites = 5;
  std::mt19937 random(static_cast<unsigned>(towers));
  ReplicaGroup group(towers);
  std::atomic<int> wrong = 0;
  for (int step = 0; step < steps; ++step) {
    const int active = 1 + static_cast<int>(random() % static_cast<unsigned>(towers));
    const Plan plan(random, active, kSites);
    const auto work = [&](int tower) {
      for (size_t s = 0; s < kSites; ++s) {
        if (tower == plan.thrower && s == plan.throws_before) throw std::out_of_range("own");
        if (!plan.passes[static_cast<size_t>(tower)][s]) continue;
        const double value = static_cast<double>((static_cast<size_t>(tower) + 1) * (s + 1));
        if (group.rendezvous().sum(tower, site(static_cast<uint32_t>(s)), value) != plan.sum(s)) ++wrong;
      }
    };
    bool threw = false;
    try {
      group.run(active, work);
    } catch (const std::out_of_range&) {
      threw = true;
    }
    if (threw != (plan.thrower >= 0)) ++wrong;
  }
  return wrong;
}

}  // namespace

TEST_CASE("ten thousand random steps neither hang nor add up wrongly", "[rendezvous]") {
  belfry::set_log_level(belfry::LogLevel::kOff);
  for (int towers = 2; towers <= 5; ++towers) CHECK(run_random_steps(towers, belfry::testing::repetitions(2500)) == 0);
  belfry::set_log_level(belfry::LogLevel::kInfo);
}

TEST_CASE("one of several calls at a place that a tower leaves out is warned of, once", "[rendezvous]") {
  std::string text;
  const auto before = belfry::set_log_sink([&](belfry::LogLevel, std::string_view line) { text += line; });
  ReplicaGroup group(3);
  const auto calls_of_towers = [&](std::vector<int64_t> calls) {
    group.run(3, [&](int tower) {
      for (int64_t i = 0; i < calls[static_cast<size_t>(tower)]; ++i) group.rendezvous().sum(tower, site(77, i), 1);
      group.rendezvous().leave_sums(tower);
    });
  };
  calls_of_towers({2, 2, 2});
  calls_of_towers({0, 1, 1});  // a loss under a condition
  calls_of_towers({0, 2, 2});  // a loop under a condition
  CHECK(text == "");
  calls_of_towers({3, 2, 3});
  CHECK_THAT(text, Contains("model.cpp:77") && Contains("3 times in tower 0") && Contains("2 times in tower 1"));
  text.clear();
  calls_of_towers({1, 2, 2});
  CHECK(text == "");
  belfry::set_log_sink(before);
}
