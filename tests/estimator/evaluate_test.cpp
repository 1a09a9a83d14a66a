#include "tests/testing.h"

#include "checkpoint/checkpoint_reader.h"
#include "core/error.h"
#include "estimator/metrics/classes.h"
#include "estimator/summaries/event_reader.h"
#include "linear_model.h"
#include "tests/support/check_fails.h"
#include "tests/support/temporary_directory.h"

using namespace belfry;
using namespace belfry::testing;
using Catch::Contains;

namespace {

// Of the rows [from, to) of ten, for y = w x + b.
double batch_loss(double w, double b, int64_t from, int64_t to) {
  const at::Tensor x = line_features(10)["x"].narrow(0, from, to - from);
  return (line_labels(10).tensor().narrow(0, from, to - from) - (x * w + b)).square().mean().item<double>();
}

}  // namespace

TEST_CASE("the loss of an evaluation is the plain mean of its batches' losses", "[estimator][E8][E9]") {
  const TemporaryDirectory dir;
  Estimator estimator(linear_model_fn, quiet(dir.path()));
  estimator.train(line(), {.steps = 3});
  const EvalResult result = estimator.evaluate(line(10, 8, 1));
  const double w = saved(estimator, "linear/w");
  const double b = saved(estimator, "linear/b");
  CHECK(result.loss() == Approx((batch_loss(w, b, 0, 8) + batch_loss(w, b, 8, 10)) / 2).epsilon(1e-5));
  CHECK(result.loss() != Approx(batch_loss(w, b, 0, 10)).epsilon(1e-2));  // the last batch's two rows weigh as eight
  CHECK(result["mean_y"] == Approx(w * 0.45 + b).epsilon(1e-5));          // by rows, unlike the loss
  CHECK(result["global_step"] == 3);
  CHECK(result.global_step() == 3);
  CHECK(result.rows() == 10);
  CHECK_THAT(failure([&] { result["accuracy"]; }).message, Contains("accuracy") && Contains("mean_y"));
}

TEST_CASE("evaluation takes as many batches as asked for, or as there are", "[estimator][E8][E38]") {
  const TemporaryDirectory dir;
  Estimator estimator(linear_model_fn, quiet(dir.path()));
  CHECK(estimator.evaluate(line(), {.steps = 3}).rows() == 12);
  CHECK(estimator.evaluate(line(10, 4, 1), {.steps = 50}).rows() == 10);
  CHECK(estimator.evaluate(line(10, 4, 2)).rows() == 20);
  CHECK_THROWS_WITH(estimator.evaluate(line(), {.steps = 0}), Contains("steps is 0"));
}

TEST_CASE("without a checkpoint evaluation uses initial weights, and writes none", "[estimator][E8]") {
  const TemporaryDirectory dir;
  Estimator estimator(linear_model_fn, quiet(dir.path()));
  const EvalResult result = estimator.evaluate(line(10, 10, 1));
  CHECK(result.global_step() == 0);
  CHECK(result.loss() == Approx(batch_loss(0, 0, 0, 10)));
  CHECK_FALSE(estimator.latest_checkpoint());
}

TEST_CASE("evaluation of an older checkpoint uses its weights and its step", "[estimator][E8]") {
  const TemporaryDirectory dir;
  RunConfig config = quiet(dir.path());
  config.save_checkpoints_steps = 2;
  Estimator estimator(linear_model_fn, config);
  estimator.train(line(), {.steps = 4});
  const CheckpointReader older(dir.file("model.ckpt-2"));
  const double w = older.tensor("linear/w").item<double>();
  const double b = older.tensor("linear/b").item<double>();
  const EvalResult result = estimator.evaluate(line(10, 10, 1), {.checkpoint_path = dir.file("model.ckpt-2")});
  CHECK(result.loss() == Approx(batch_loss(w, b, 0, 10)));
  CHECK(result.global_step() == 2);
  CHECK(estimator.evaluate(line(10, 10, 1)).global_step() == 4);

  const Failure absent = failure([&] { estimator.evaluate(line(), {.checkpoint_path = dir.file("model.ckpt-7")}); });
  CHECK(absent.kind == ErrorKind::kNotFound);
  CHECK_THAT(absent.message, Contains("model.ckpt-7"));
  CHECK(estimator.evaluate(line(10, 10, 1)).global_step() == 4);
}

TEST_CASE("an evaluation's folder has its loss, metrics and the checkpoint's path", "[estimator][E10][E17][E124]") {
  const TemporaryDirectory dir;
  Estimator estimator(linear_model_fn, quiet(dir.path()));
  estimator.train(line(), {.steps = 3});
  const std::string name = GENERATE("", "held_back");
  const std::string folder = estimator.eval_dir(name);
  CHECK(folder == dir.file(name.empty() ? "eval" : "eval_held_back"));
  const EvalResult result = estimator.evaluate(line(10, 10, 1), {.name = name});
  auto scalars = read_scalars(posix_file_system(), folder);
  REQUIRE(scalars.size() == 1);
  REQUIRE(scalars.count(3) == 1);
  CHECK(scalars[3].size() == 2);
  CHECK(scalars[3]["loss"] == Approx(result.loss()));
  CHECK(scalars[3]["mean_y"] == Approx(result["mean_y"]));

  std::vector<std::string> texts;
  SummaryEvent event;
  EventFileReader reader(posix_file_system(), list_event_files(posix_file_system(), folder).at(0));
  while (reader.next(event)) {
    for (const SummaryValue& value : event.values) {
      if (value.tag == "checkpoint_path") texts.push_back(std::get<std::string>(value.value));
    }
  }
  CHECK(texts == std::vector<std::string>{*estimator.latest_checkpoint()});
}

TEST_CASE("a metric of several numbers is a tensor of the result and of the summaries", "[estimator][E8][E124]") {
  const TemporaryDirectory dir;
  const auto model = [](const Features& features, const Labels& labels, ModeKeys, ModelContext&) {
    return EstimatorSpec::eval(at::zeros({}),
                               {{"confusion", metrics::confusion_matrix(labels.tensor(), features["class"], 3)}});
  };
  const InputFn input = [] {
    return Dataset::from_tensors({{"class", at::tensor({0, 1, 1, 2, 2}, at::kLong)}},
                                 at::tensor({0, 1, 2, 2, 0}, at::kLong))
        .batch(2);
  };
  const at::Tensor counts = at::tensor({1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0}).reshape({3, 3});
  Estimator estimator(model, quiet(dir.path()));
  const EvalResult result = estimator.evaluate(input);
  REQUIRE(result.tensor("confusion").sizes() == at::IntArrayRef({3, 3}));
  CHECK(at::equal(result.tensor("confusion").to(at::kFloat), counts.to(at::kFloat)));
  CHECK_THROWS_WITH(result["confusion"], Contains("[3, 3]"));

  std::vector<at::Tensor> written;
  SummaryEvent event;
  EventFileReader reader(posix_file_system(), list_event_files(posix_file_system(), estimator.eval_dir()).at(0));
  while (reader.next(event)) {
    for (const SummaryValue& value : event.values) {
      if (value.tag == "confusion") written.push_back(std::get<at::Tensor>(value.value));
    }
  }
  REQUIRE(written.size() == 1);
  CHECK(at::equal(written[0].to(at::kFloat), counts.to(at::kFloat)));
}

TEST_CASE("evaluating empty input gives zeros and a warning", "[estimator][E8]") {
  const TemporaryDirectory dir;
  Estimator estimator(linear_model_fn, quiet(dir.path()));
  estimator.train(line(), {.steps = 3});
  const CapturedLog log;
  const EvalResult result = estimator.evaluate(no_input());
  CHECK(result.loss() == 0);
  CHECK(result["mean_y"] == 0);  // a metric of the model_fn
  CHECK(result.rows() == 0);
  CHECK(result.global_step() == 3);
  CHECK(log.count(LogLevel::kWarning, "gave no batch") == 1);
}

TEST_CASE("evaluation leaves the checkpoint and the training as they are", "[estimator][E8]") {
  const TemporaryDirectory dir;
  const TemporaryDirectory other_dir;
  Estimator estimator(linear_model_fn, quiet(dir.path()));
  Estimator alone(linear_model_fn, quiet(other_dir.path()));
  estimator.train(line(), {.steps = 3});
  const double w = saved(estimator, "linear/w");
  estimator.evaluate(line(10, 4, 1));
  CHECK(saved(estimator, "linear/w") == w);
  estimator.train(line(), {.steps = 3});
  alone.train(line(), {.steps = 3});
  alone.train(line(), {.steps = 3});
  CHECK(saved(estimator, "linear/w") == saved(alone, "linear/w"));
}
