#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "tests/testing.h"

#include "checkpoint/checkpoint_manager.h"
#include "checkpoint/checkpoint_reader.h"
#include "core/error.h"
#include "linear_model.h"
#include "optimizers/adam.h"
#include "optimizers/gradient_descent.h"
#include "tests/support/check_fails.h"
#include "tests/support/fault_injecting_file_system.h"
#include "tests/support/temporary_directory.h"

using namespace belfry;
using namespace belfry::testing;
using Catch::Contains;

namespace {

void cut(const std::string& path, uint64_t bytes) {
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - bytes);
}

void write(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

// A directory with checkpoints of steps 0, 2 and 4.
struct Trained {
  Trained() {
    config = quiet(dir.path());
    config.save_checkpoints_steps = 2;
    Estimator(linear_model_fn, config).train(line(), {.steps = 4});
  }
  std::string data_of(int64_t step) const {
    return dir.file("model.ckpt-" + std::to_string(step) + ".data-00000-of-00001");
  }
  TemporaryDirectory dir;
  RunConfig config;
};

// No file that a save did not finish.
void check_nothing_half_written(const std::string& directory) {
  for (const std::string& name : posix_file_system().list(directory)) {
    CHECK_THAT(name, !Contains(".tmp"));
  }
  for (const std::string& prefix : CheckpointManager(directory).all()) CheckpointReader(prefix).verify();
}

// Does something before the `at`-th opening of a file.
class Interrupted : public FaultInjectingFileSystem {
 public:
  Interrupted(int64_t at, std::function<void()> action)
      : FaultInjectingFileSystem(posix_file_system()), left_(at), action_(std::move(action)) {}

  std::unique_ptr<RandomAccessFile> open(const std::string& path) override {
    if (left_-- == 0) action_();
    return FaultInjectingFileSystem::open(path);
  }
  bool happened() const { return left_ < 0; }

 private:
  int64_t left_;
  std::function<void()> action_;
};

EstimatorSpec wider_model_fn(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  const at::Tensor w = ctx.variable("linear/w", [] { return torch::zeros({3, 2}); });
  const at::Tensor y = features["x"] * w.sum();
  if (mode == ModeKeys::kPredict) return EstimatorSpec::predict(y);
  const at::Tensor loss = (labels.tensor() - y).square().mean();
  if (mode == ModeKeys::kEval) return EstimatorSpec::eval(loss);
  return EstimatorSpec::train(loss, descend(loss, ctx));
}

EstimatorSpec adam_model_fn(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  if (mode != ModeKeys::kTrain) return linear_model_fn(features, labels, mode, ctx);
  const at::Tensor loss = (labels.tensor() - linear_output(features, ctx)).square().mean();
  return EstimatorSpec::train(loss, Adam().minimize(loss, ctx));
}

}  // namespace

TEST_CASE("a file in the place of the model_dir is an error with its path", "[estimator][E1][E4]") {
  const TemporaryDirectory dir;
  write(dir.file("model"), "a file");
  Estimator estimator(linear_model_fn, quiet(dir.file("model")));
  const Failure found = failure([&] { estimator.train(line(), {.steps = 2}); });
  CHECK(found.kind == ErrorKind::kIo);
  CHECK_THAT(found.message, Contains(dir.file("model")));
  CHECK(read_file(posix_file_system(), dir.file("model")) == "a file");
  posix_file_system().remove_file(dir.file("model"));
  CHECK(estimator.train(line(), {.steps = 2}).global_step == 2);
}

TEST_CASE("a model_dir where nothing may be written is an error with its path, and what it holds can be used",
          "[estimator][E1][E4]") {
  const TemporaryDirectory dir;
  FaultInjectingFileSystem files(posix_file_system());
  RunConfig config = quiet(dir.path());
  config.files = &files;
  Estimator estimator(linear_model_fn, config);
  const auto check_refused = [&] {
    files.forbid_writing();
    const Failure found = failure([&] { estimator.train(line(), {.steps = 2}); });
    CHECK(found.kind == ErrorKind::kIo);
    CHECK_THAT(found.message, Contains(dir.path()) && Contains("Permission denied"));
  };
  check_refused();
  CHECK(posix_file_system().list(dir.path()).empty());
  files.revive();
  CHECK(estimator.train(line(), {.steps = 2}).global_step == 2);

  check_refused();
  CHECK(saved(estimator, "global_step") == 2);
  CHECK(estimator.predict(line_features(2)).rows() == 2);
  CHECK(estimator.evaluate(line(16, 4, 1)).global_step() == 2);  // without its summaries
  CHECK_FALSE(posix_file_system().exists(estimator.eval_dir()));
  files.revive();
  CHECK(estimator.train(line(), {.max_steps = 5}).global_step == 5);
  check_nothing_half_written(dir.path());
}

TEST_CASE("the operating system's refusal of a model_dir is an error with its path", "[estimator][E1][E4]") {
  if (geteuid() == 0) {
    WARN("skipped: the superuser may write anywhere");
    return;
  }
  const TemporaryDirectory dir;
  std::filesystem::permissions(dir.path(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  Estimator estimator(linear_model_fn, quiet(dir.path()));
  const Failure found = failure([&] { estimator.train(line(), {.steps = 2}); });
  CHECK(found.kind == ErrorKind::kIo);
  CHECK_THAT(found.message, Contains(dir.path()));
  std::filesystem::permissions(dir.path(), std::filesystem::perms::owner_all);
  CHECK(estimator.train(line(), {.steps = 2}).global_step >= 2);
}

TEST_CASE("a full disk ends training with an error, and loses no step", "[estimator][E4]") {
  const TemporaryDirectory dir;
  FaultInjectingFileSystem files(posix_file_system());
  RunConfig config = quiet(dir.path());
  config.files = &files;
  config.save_checkpoints_steps = 2;
  Estimator estimator(linear_model_fn, config);
  estimator.train(line(), {.steps = 4});
  files.limit_space(100);
  CHECK(failure([&] { estimator.train(line(), {.steps = 4}); }).kind == ErrorKind::kIo);
  check_nothing_half_written(dir.path());
  CHECK(saved(estimator, "global_step") == 4);
  CHECK(estimator.predict(line_features(2)).rows() == 2);
  CHECK(estimator.evaluate(line(16, 4, 1)).global_step() == 4);  // without its summaries
  files.revive();
  CHECK(estimator.evaluate(line(16, 4, 1)).global_step() == 4);
  CHECK(estimator.train(line(), {.max_steps = 8}).global_step == 8);
  CHECK(saved(estimator, "global_step") == 8);
  check_nothing_half_written(dir.path());
}

TEST_CASE("any write that fails leaves a directory that opens and an Estimator that goes on", "[estimator][E4]") {
  const auto kind = GENERATE(FileOperation::kCreate, FileOperation::kAppend, FileOperation::kSync,
                             FileOperation::kClose, FileOperation::kRename, FileOperation::kMakeDirectories);
  for (int64_t at = 0; at < 5; ++at) {
    CAPTURE(static_cast<int>(kind), at);
    const TemporaryDirectory dir;
    FaultInjectingFileSystem files(posix_file_system());
    RunConfig config = quiet(dir.path());
    config.files = &files;
    config.save_checkpoints_steps = 1;
    Estimator estimator(linear_model_fn, config);
    estimator.train(line(), {.steps = 1});
    files.inject({.at = at, .kind = kind});
    const Failure found = failure([&] { estimator.train(line(), {.steps = 3}); });
    if (files.fault_happened()) CHECK(found.kind == ErrorKind::kIo);
    files.revive();
    Estimator reader(linear_model_fn, quiet(dir.path()));
    REQUIRE(reader.latest_checkpoint());
    CHECK(reader.evaluate(line(16, 4, 1)).global_step() >= 1);
    CHECK(estimator.train(line(), {.max_steps = 9}).global_step == 9);
    check_nothing_half_written(dir.path());
  }
}

TEST_CASE("the newest checkpoint that can be read is used, and what was skipped is logged", "[estimator][E3][E14]") {
  const Trained trained;
  SECTION("its data are cut short") { cut(trained.data_of(4), 3); }
  SECTION("its index is cut short") { cut(trained.dir.file("model.ckpt-4.index"), 10); }
  SECTION("its index is another kind of file") { write(trained.dir.file("model.ckpt-4.index"), "not an index at all"); }
  SECTION("its data are gone") { posix_file_system().remove_file(trained.data_of(4)); }
  SECTION("its data have other bytes") {
    const uint64_t size = std::filesystem::file_size(trained.data_of(4));
    write(trained.data_of(4), std::string(size, '\x55'));
  }
  const CapturedLog log;
  Estimator estimator(linear_model_fn, trained.config);
  CHECK(*estimator.latest_checkpoint() == trained.dir.file("model.ckpt-2"));
  CHECK(log.count(LogLevel::kWarning, "model.ckpt-4 is passed over: ") == 1);
  CHECK(estimator.evaluate(line(16, 4, 1)).global_step() == 2);
  CHECK(estimator.train(line(), {.max_steps = 6}).steps == 4);
  CHECK(saved(estimator, "global_step") == 6);
  check_nothing_half_written(trained.dir.path());
}

TEST_CASE("checkpoints of which none can be read are an error, and nothing is trained over them",
          "[estimator][E3][E14]") {
  const Trained trained;
  for (const int64_t step : {0, 2, 4}) cut(trained.data_of(step), 3);
  Estimator estimator(linear_model_fn, trained.config);
  for (const Failure& found :
       {failure([&] { estimator.train(line(), {.steps = 1}); }), failure([&] { estimator.evaluate(line(16, 4, 1)); }),
        failure([&] { estimator.predict(line_features(2)); }), failure([&] { estimator.latest_checkpoint(); })}) {
    CHECK(found.kind == ErrorKind::kDataLoss);
    CHECK_THAT(found.message, Contains("model.ckpt-4") && Contains("truncated"));
  }
  for (const int64_t step : {0, 2, 4}) {
    CHECK(posix_file_system().exists(trained.data_of(step)));
    posix_file_system().remove_file(trained.dir.file("model.ckpt-" + std::to_string(step) + ".index"));
  }
  CHECK(estimator.train(line(), {.steps = 1}).global_step == 1);
}

TEST_CASE("a checkpoint that the system cannot read now is not passed over", "[estimator][E3][E14]") {
  const Trained trained;
  FaultInjectingFileSystem files(posix_file_system());
  RunConfig config = trained.config;
  config.files = &files;
  Estimator estimator(linear_model_fn, config);
  const auto operation = GENERATE(FileOperation::kOpen, FileOperation::kRead);
  files.inject({.kind = operation, .path_part = "model.ckpt-4"});
  CHECK(failure([&] { estimator.train(line(), {.steps = 1}); }).kind == ErrorKind::kIo);
  files.inject({.kind = operation, .path_part = "model.ckpt-4"});
  CHECK(failure([&] { estimator.evaluate(line(16, 4, 1)); }).kind == ErrorKind::kIo);
  files.revive();
  CHECK(estimator.train(line(), {.steps = 1}).global_step == 5);
}

TEST_CASE("a damaged file `checkpoint` is passed over", "[estimator][E3][E14]") {
  const Trained trained;
  write(trained.dir.file("checkpoint"), "\x01\x02 nothing that was ever written here {{{");
  const CapturedLog log;
  Estimator estimator(linear_model_fn, trained.config);
  CHECK(estimator.evaluate(line(16, 4, 1)).global_step() == 4);
  CHECK(estimator.predict(line_features(2)).rows() == 2);
  CHECK(log.count(LogLevel::kWarning, "checkpoint is passed over") >= 1);
  CHECK(estimator.train(line(), {.steps = 1}).global_step == 5);
}

TEST_CASE("a checkpoint of other shapes is refused with the variable and both shapes", "[estimator][E3]") {
  const Trained trained;
  Estimator estimator(wider_model_fn, trained.config);
  for (const Failure& found :
       {failure([&] { estimator.train(line(), {.steps = 1}); }), failure([&] { estimator.evaluate(line(16, 4, 1)); }),
        failure([&] { estimator.predict(line_features(2)); })}) {
    CHECK(found.kind == ErrorKind::kInvalidArgument);
    CHECK_THAT(found.message, Contains("linear/w") && Contains("[1]") && Contains("[3, 2]"));
  }
  CHECK(saved(estimator, "global_step") == 4);
  CHECK(posix_file_system().exists(trained.dir.file("model.ckpt-4.index")));
  CHECK_FALSE(posix_file_system().exists(trained.dir.file("model.ckpt-5.index")));
  CHECK(Estimator(linear_model_fn, trained.config).train(line(), {.steps = 1}).global_step == 5);
}

TEST_CASE("a changed optimizer is an error that lists every name the checkpoint lacks", "[estimator][E3]") {
  const Trained trained;
  Estimator estimator(adam_model_fn, trained.config);
  for (int time = 0; time < 2; ++time) {  // the second call must not take the slots for restored ones
    const Failure found = failure([&] { estimator.train(line(), {.steps = 1}); });
    CHECK(found.kind == ErrorKind::kInvalidArgument);
    for (const char* name : {"training/Adam/linear/w/m", "training/Adam/linear/w/v", "training/Adam/linear/b/m",
                             "training/Adam/linear/b/v"}) {
      CHECK_THAT(found.message, Contains(name));
    }
    CHECK_THAT(found.message, Contains("model.ckpt-4"));
  }
  CHECK(estimator.evaluate(line(16, 4, 1)).global_step() == 4);
  CHECK(saved(estimator, "global_step") == 4);
}

TEST_CASE("a checkpoint that is no Estimator's is refused by name", "[estimator][E3]") {
  const TemporaryDirectory dir;
  CheckpointManager(dir.path()).save(3, {{"something", torch::ones({2})}});
  Estimator estimator(linear_model_fn, quiet(dir.path()));
  const Failure found = failure([&] { estimator.train(line(), {.steps = 1}); });
  CHECK(found.kind == ErrorKind::kInvalidArgument);
  CHECK_THAT(found.message, Contains("model.ckpt-3") && Contains("global_step"));
  CHECK(estimator.get_variable_value("something").sum().item<double>() == 2);
}

TEST_CASE("a training that saves and removes checkpoints at any moment does not disturb those who read",
          "[estimator][E3][E14]") {
  const auto reads = GENERATE(false, true);
  bool happened = true;
  for (int64_t at = 0; happened; ++at) {
    CAPTURE(at, reads);
    const TemporaryDirectory dir;
    RunConfig config = quiet(dir.path());
    config.keep_checkpoint_max = 1;
    Estimator trainer(linear_model_fn, config);
    trainer.train(line(), {.steps = 2});
    Interrupted files(at, [&] { trainer.train(line(), {.steps = 1}); });
    config.files = &files;
    Estimator reader(linear_model_fn, config);
    const int64_t step = reads ? reader.get_variable_value("global_step").item<int64_t>()
                               : reader.evaluate(line(16, 4, 1)).global_step();
    CHECK(step >= 2);
    happened = files.happened();
  }
}

TEST_CASE("another checkpoint in the place of one that was evaluated is read anew", "[estimator][E8]") {
  const TemporaryDirectory dir;
  Estimator estimator(linear_model_fn, quiet(dir.path()));
  estimator.train(line(), {.steps = 2});
  const EvaluateOptions options{.checkpoint_path = dir.file("model.ckpt-2")};
  const double loss = estimator.evaluate(line(16, 4, 1), options)["loss"];
  posix_file_system().remove_all(dir.path());
  Estimator(linear_model_fn, quiet(dir.path())).train(line(16, 16), {.steps = 2});
  const double other = estimator.evaluate(line(16, 4, 1), options)["loss"];
  CHECK(other != loss);
  CHECK(other == Estimator(linear_model_fn, quiet(dir.path())).evaluate(line(16, 4, 1))["loss"]);
}
