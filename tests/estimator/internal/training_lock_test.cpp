// Two trainings of one model directory.
#include "estimator/internal/training_lock.h"

#include <unistd.h>

#include <filesystem>
#include <functional>

#include "estimator/estimator.h"
#include "tests/estimator/linear_model.h"
#include "tests/support/check_fails.h"
#include "tests/support/fault_injecting_file_system.h"
#include "tests/support/temporary_directory.h"
#include "tests/testing.h"

using namespace belfry;
using namespace belfry::testing;
using Catch::Contains;

namespace {

// Calls a function after the first step.
class Once : public SessionRunHook {
 public:
  explicit Once(std::function<void()> call) : call_(std::move(call)) {}
  void after_run(RunContext&) override {
    if (call_) std::exchange(call_, nullptr)();
  }

 private:
  std::function<void()> call_;
};

TrainResult train_with(Estimator& estimator, const std::function<void()>& inside) {
  return estimator.train(line(), {.steps = 2, .hooks = {std::make_shared<Once>(inside)}});
}

class WithoutLocks : public FaultInjectingFileSystem {
 public:
  using FaultInjectingFileSystem::FaultInjectingFileSystem;
  FileLockAttempt try_lock(const std::string& path, std::string_view holder) override {
    return FileSystem::try_lock(path, holder);
  }
};

}  // namespace

TEST_CASE("a second training of a model directory is refused by the process that trains", "[estimator][lock]") {
  const TemporaryDirectory dir;
  std::filesystem::create_directory_symlink(dir.file("model"), dir.file("link"));
  Estimator one(linear_model_fn, quiet(dir.file("model")));
  for (const char* name : {"model", "link"}) {
    Estimator other(linear_model_fn, quiet(dir.file(name)));
    Failure refused;
    const TrainResult result = train_with(one, [&] { refused = failure([&] { other.train(line(), {.steps = 1}); }); });
    CHECK(result.steps == 2);
    CHECK(refused.kind == ErrorKind::kFailedPrecondition);
    CHECK_THAT(refused.message,
               Contains(concat("process ", ::getpid(), " on ")) && Contains("this one") && Contains(dir.file(name)));
    CHECK(other.train(line(), {.steps = 1}).steps == 1);
  }
  for (const std::string& name : posix_file_system().list(dir.file("model"))) CHECK_THAT(name, !Contains("lock"));
}

TEST_CASE("what only reads a model directory goes on while it is trained in", "[estimator][lock]") {
  const TemporaryDirectory dir;
  Estimator one(linear_model_fn, quiet(dir.path()));
  one.train(line(), {.steps = 2});
  Estimator other(linear_model_fn, quiet(dir.path()));
  int64_t evaluated_step = 0;
  int64_t predicted = 0;
  train_with(one, [&] {
    evaluated_step = other.evaluate(line(16, 4, 1)).global_step();
    predicted = other.predict(line_features(3))["y"].numel();
  });
  CHECK(evaluated_step == 2);
  CHECK(predicted == 3);
}

TEST_CASE("a training that failed, or had nothing to do, leaves the directory free", "[estimator][lock]") {
  const TemporaryDirectory dir;
  Estimator one(linear_model_fn, quiet(dir.path())), other(linear_model_fn, quiet(dir.path()));
  CHECK_THROWS(train_with(one, [] { throw std::runtime_error("out of paper"); }));
  CHECK(other.train(line(), {.steps = 1}).steps == 1);
  CHECK(one.train(line(), {.max_steps = 1}).steps == 0);
  CHECK(other.train(line(), {.steps = 1}).steps == 1);
}

TEST_CASE("trainings of different directories do not mind each other", "[estimator][lock]") {
  const TemporaryDirectory here, there;
  Estimator one(linear_model_fn, quiet(here.path())), other(linear_model_fn, quiet(there.path()));
  train_with(one, [&] { other.train(line(), {.steps = 1}); });
  CHECK(saved(other, "global_step") == 1);
}

TEST_CASE("where a file system has no locks a warning says so, and the training goes on", "[estimator][lock]") {
  const TemporaryDirectory dir;
  WithoutLocks files(posix_file_system());
  RunConfig config = quiet(dir.path());
  config.files = &files;
  const CapturedLog log;
  Estimator one(linear_model_fn, config), other(linear_model_fn, config);
  train_with(one, [&] { other.train(line(), {.steps = 1}); });
  INFO(log.text());
  CHECK(log.count(LogLevel::kWarning, "has no locks. Nothing keeps another process from training in") == 2);
}
