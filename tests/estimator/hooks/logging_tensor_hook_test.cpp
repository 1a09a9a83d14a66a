#include "estimator/hooks/logging_tensor_hook.h"

#include "core/error.h"
#include "tests/estimator/linear_model.h"
#include "tests/support/check_fails.h"
#include "tests/support/temporary_directory.h"
#include "tests/testing.h"

using namespace belfry;
using namespace belfry::testing;
using Catch::Contains;

namespace {

Hooks logging(const LoggingTensorOptions& options) { return {std::make_shared<LoggingTensorHook>(options)}; }

}  // namespace

TEST_CASE("values are logged at the first iteration and every so many", "[estimator][hooks][E45]") {
  const TemporaryDirectory dir;
  Estimator estimator(linear_model_fn, quiet(dir.path()));
  const CapturedLog log;
  const double loss =
      estimator.train(line(4, 4), {.steps = 1, .hooks = logging({.tensors = {"loss"}, .every_n_iter = 3})}).loss;
  CHECK(log.count(LogLevel::kInfo, concat("loss = ", static_cast<float>(loss))) == 1);
  estimator.train(line(4, 4), {.steps = 7, .hooks = logging({.tensors = {"loss"}, .every_n_iter = 3})});
  CHECK(log.count(LogLevel::kInfo, "loss = ") == 4);
  CHECK(log.count(LogLevel::kInfo, " sec)") == 2);  // not with the first of a call
}

TEST_CASE("values are logged every so many seconds", "[estimator][hooks][E45]") {
  const TemporaryDirectory dir;
  Estimator estimator(linear_model_fn, quiet(dir.path()));
  const auto messages = [&](double secs) {
    const CapturedLog log;
    estimator.train(line(), {.steps = 4, .hooks = logging({.tensors = {"loss"}, .every_n_secs = secs})});
    return log.count(LogLevel::kInfo, "loss = ");
  };
  CHECK(messages(1e-9) == 4);  // pass within every step
  CHECK(messages(1e9) == 1);   // the first step alone
  CHECK_THROWS_WITH(LoggingTensorHook({.tensors = {"loss"}, .every_n_secs = -2.0}), Contains("-2 seconds"));
}

TEST_CASE("values are sorted by name, and a formatter may replace their text", "[estimator][hooks][E45]") {
  const TemporaryDirectory dir;
  Estimator estimator(linear_model_fn, quiet(dir.path()));
  const CapturedLog log;
  estimator.predict(line_features(1), {.hooks = logging({.tensors = {"y", "twice"}, .every_n_iter = 1})});
  CHECK(log.count(LogLevel::kInfo, "twice = 0, y = 0") == 1);
  const auto own = [](const std::map<std::string, at::Tensor>& values) { return concat(values.size(), " in all"); };
  estimator.predict(line_features(1),
                    {.hooks = logging({.tensors = {"y", "twice"}, .every_n_iter = 1, .formatter = own})});
  CHECK(log.count(LogLevel::kInfo, "2 in all") == 1);
}

TEST_CASE("values may be logged at the end alone", "[estimator][hooks][E45]") {
  const TemporaryDirectory dir;
  Estimator estimator(linear_model_fn, quiet(dir.path()));
  const CapturedLog log;
  estimator.evaluate(line(), {.steps = 5, .hooks = logging({.tensors = {"loss"}, .at_end = true})});
  CHECK(log.count(LogLevel::kInfo, "loss = ") == 1);
}

TEST_CASE("names and settings of LoggingTensorHook are checked", "[estimator][hooks][E45]") {
  CHECK_THROWS_WITH(LoggingTensorHook({}), Contains("no names"));
  CHECK_THROWS_WITH(LoggingTensorHook({.tensors = {"loss"}}), Contains("at_end"));
  CHECK_THROWS_WITH(LoggingTensorHook({.tensors = {"loss"}, .every_n_iter = 1, .every_n_secs = 1.0}), Contains("both"));
  CHECK_THROWS_WITH(LoggingTensorHook({.tensors = {"loss"}, .every_n_iter = 0}), Contains("0 steps"));
  const TemporaryDirectory dir;
  Estimator estimator(linear_model_fn, quiet(dir.path()));
  const Hooks hooks = logging({.tensors = {"z"}, .every_n_iter = 1});
  CHECK(failure([&] { estimator.predict(line_features(1), {.hooks = hooks}); }).kind == ErrorKind::kNotFound);
}
