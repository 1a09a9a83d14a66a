#include "tests/integration/resume_testing.h"

#include <signal.h>  // NOLINT(modernize-deprecated-headers): SIGKILL

#include <cstdlib>
#include <thread>

#include "checkpoint/checkpoint_manager.h"
#include "checkpoint/checkpoint_reader.h"
#include "tests/testing.h"

namespace belfry::testing {

int64_t number_from(const char* variable, int64_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::stoll(text) : otherwise;
}

uint64_t seed_of_kills() { return static_cast<uint64_t>(number_from("BELFRY_RESUME_SEED", std::random_device()())); }

bool killed_at_random(ChildProcess& child, std::chrono::steady_clock::duration whole, std::mt19937_64& random) {
  const double part = std::uniform_real_distribution<double>(0, 1)(random);
  std::this_thread::sleep_for(std::chrono::duration_cast<std::chrono::steady_clock::duration>(whole * part));
  child.send(SIGKILL);
  const ExitStatus status = child.wait();
  if (status.signal == 0) REQUIRE(status.code == 0);
  return status.signal != 0;
}

void check_same_bits(const std::string& directory, const std::string& expected_directory) {
  const CheckpointReader got(CheckpointManager(directory).latest().prefix.value());
  const CheckpointReader expected(CheckpointManager(expected_directory).latest().prefix.value());
  REQUIRE(got.variables().size() == expected.variables().size());
  for (const CheckpointVariable& variable : expected.variables()) {
    INFO(variable.name);
    REQUIRE(got.contains(variable.name));
    if (variable.is_strings) {
      CHECK(got.strings(variable.name) == expected.strings(variable.name));
    } else {
      CHECK(torch::equal(got.tensor(variable.name), expected.tensor(variable.name)));
    }
  }
}

}  // namespace belfry::testing
