// A model directory that another process trains in, and what is left of its lock when it is killed.
#include <signal.h>  // NOLINT(modernize-deprecated-headers): SIGKILL

#include <chrono>
#include <thread>

#include "tests/testing.h"

#include "core/file_system.h"
#include "estimator/estimator.h"
#include "tests/estimator/linear_model.h"
#include "tests/integration/child_process.h"
#include "tests/support/check_fails.h"
#include "tests/support/temporary_directory.h"

using namespace belfry;
using namespace belfry::testing;

TEST_CASE("another process that trains in the directory keeps this one from it, until it is killed",
          "[integration][lock]") {
  const TemporaryDirectory dir;
  ChildProcess child({BELFRY_LOCK_PROGRAM, dir.path()});
  while (child.running() && !posix_file_system().exists(dir.file("checkpoint"))) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  REQUIRE(child.running());
  Estimator estimator(linear_model_fn, quiet(dir.path()));
  CHECK_FAILS(estimator.train(line(), {.steps = 1}), ErrorKind::kFailedPrecondition,
              concat("process ", child.pid(), " on "));
  // Neither waits for the other.
  CHECK(estimator.evaluate(line(16, 4, 1)).rows() == 16);
  CHECK(estimator.predict(line_features(3))["y"].numel() == 3);
  CHECK(ChildProcess({BELFRY_LOCK_PROGRAM, dir.path()}).wait().code == 1);
  CHECK(child.running());

  child.send(SIGKILL);
  CHECK(child.wait().signal == SIGKILL);
  CHECK(posix_file_system().exists(dir.file("training.lock")));
  CHECK(estimator.train(line(), {.steps = 1}).steps == 1);
  CHECK_FALSE(posix_file_system().exists(dir.file("training.lock")));
}
