#include "tests/testing.h"

#include "checkpoint/checkpoint_reader.h"
#include "core/error.h"
#include "core/string_tensor.h"
#include "estimator/session_run_hook.h"
#include "linear_model.h"
#include "tests/support/check_fails.h"
#include "tests/support/fault_injecting_file_system.h"
#include "tests/support/temporary_directory.h"

using namespace belfry;
using namespace belfry::testing;
using Catch::Contains;

namespace {

// A trained model, and what it predicts for row i of 16.
struct Trained {
  explicit Trained(RunConfig config = {}) {
    config.model_dir = dir.path();
    config.save_summary_steps = 0;
    config.log_step_count_steps = 0;
    estimator.emplace(linear_model_fn, config);
    estimator->train(line(), {.steps = 3});
    w = saved(*estimator, "linear/w");
    b = saved(*estimator, "linear/b");
  }
  double y(int64_t i) const { return static_cast<double>(i) / 16 * w + b; }

  TemporaryDirectory dir;
  std::optional<Estimator> estimator;
  double w = 0;
  double b = 0;
};

}  // namespace

TEST_CASE("predictions come row by row, without labels, in the order of the input", "[estimator][E11]") {
  Trained trained;
  int64_t i = 0;
  for (const Predictions& row : trained.estimator->predict(line(16, 5, 1))) {
    CHECK(row["y"].dim() == 0);
    CHECK(row["y"].item<double>() == Approx(trained.y(i)));
    CHECK(row["twice"].item<double>() == Approx(2 * trained.y(i)));
    CHECK_FALSE(row["y"].requires_grad());
    ++i;
  }
  CHECK(i == 16);
}

TEST_CASE("what LibTorch refuses in a model_fn is an error that says what the model_fn was given", "[estimator][E11]") {
  Trained trained;
  const auto product = [](const Features& features, const Labels&, ModeKeys, ModelContext&) {
    return EstimatorSpec::predict({{"y", features["x"].matmul(torch::ones({5}))}});
  };
  Estimator other(product, quiet(trained.dir.path()));
  const Failure refused = failure([&] { other.predict({{"x", torch::ones({2, 3})}}); });
  CHECK(refused.kind == ErrorKind::kInvalidArgument);
  CHECK_THAT(refused.message, Contains("called for infer with features 'x' Float[2, 3]: LibTorch: size mismatch"));
  CHECK_THAT(refused.message, !Contains("frame #"));
  CHECK(trained.estimator->predict(line_features(2))["y"].numel() == 2);
}

TEST_CASE("the end of the input ends a prediction, and nothing else", "[estimator][E11][E38]") {
  Trained trained;
  const auto rows = [&](const InputFn& input_fn) {
    int64_t count = 0;
    for (const Predictions& row : trained.estimator->predict(input_fn)) count += row["y"].numel();
    return count;
  };
  CHECK(rows(line(10, 4, 1)) == 10);
  CHECK(rows(line(10, 4, 2)) == 20);
  CHECK(rows(no_input()) == 0);
  CHECK(rows(line(3, 4, 1)) == 3);
}

TEST_CASE("predictions come batch by batch when asked for", "[estimator][E11]") {
  Trained trained;
  std::vector<int64_t> rows;
  for (const Predictions& batch : trained.estimator->predict(line(16, 5, 1), {.yield_single_examples = false})) {
    rows.push_back(batch.rows());
  }
  CHECK(rows == std::vector<int64_t>{5, 5, 5, 1});
}

TEST_CASE("predictions of an older checkpoint are those of its weights", "[estimator][E11]") {
  RunConfig config;
  config.save_checkpoints_steps = 2;
  Trained trained(config);  // checkpoints of steps 0, 2 and 3
  const std::string older = trained.dir.file("model.ckpt-2");
  const CheckpointReader reader(older);
  const double w = reader.tensor("linear/w").item<double>();
  const double b = reader.tensor("linear/b").item<double>();
  REQUIRE(w != Approx(trained.w));
  int64_t i = 0;
  for (const Predictions& row : trained.estimator->predict(line(16, 5, 1), {.checkpoint_path = older})) {
    CHECK(row["y"].item<double>() == Approx(static_cast<double>(i++) / 16 * w + b));
  }
  CHECK(i == 16);
  const at::Tensor batch = trained.estimator->predict(line_features(16), {.checkpoint_path = older})["y"];
  CHECK(batch[15].item<double>() == Approx(15.0 / 16 * w + b));
  CHECK(trained.estimator->predict(line_features(16))["y"][15].item<double>() == Approx(trained.y(15)));
  CHECK_FAILS(trained.estimator->predict(line(), {.checkpoint_path = trained.dir.file("model.ckpt-1")}),
              ErrorKind::kNotFound, "model.ckpt-1");
}

TEST_CASE("batches are computed as the range is read", "[estimator][E11]") {
  const TemporaryDirectory dir;
  int calls = 0;
  const auto counting = [&](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    ++calls;
    return linear_model_fn(features, labels, mode, ctx);
  };
  Estimator estimator(counting, quiet(dir.path()));
  PredictRange range = estimator.predict(line(16, 4));  // without end
  CHECK(calls == 0);
  auto row = range.begin();
  CHECK(calls == 1);
  for (int i = 0; i < 3; ++i) ++row;
  CHECK(calls == 1);
  ++row;
  CHECK(calls == 2);
}

TEST_CASE("predict_keys choose among the predictions", "[estimator][E11]") {
  Trained trained;
  PredictRange range = trained.estimator->predict(line_without_labels(), {.predict_keys = {"twice", "absent"}});
  CHECK(range.begin()->names() == std::vector<std::string>{"twice"});
  PredictRange none = trained.estimator->predict(line_without_labels(), {.predict_keys = {"absent"}});
  CHECK_THROWS_WITH(none.begin(), Contains("none of the predict_keys") && Contains("y twice"));

  const TemporaryDirectory dir;
  const auto lone = [](const Features& features, ModeKeys, ModelContext&) {
    return EstimatorSpec::predict(features["x"] + 1);
  };
  Estimator estimator(lone, quiet(dir.path()));
  CHECK(estimator.predict(line_features(3)).tensor().size(0) == 3);
  CHECK_THROWS_WITH(estimator.predict(line_features(3), {.predict_keys = {"y"}}), Contains("lone tensor"));
}

TEST_CASE("predictions of differing rows cannot be handed out row by row", "[estimator][E11]") {
  const TemporaryDirectory dir;
  const auto uneven = [](const Features& features, ModeKeys, ModelContext&) {
    return EstimatorSpec::predict({{"x", features["x"]}, {"mean", features["x"].mean().unsqueeze(0)}});
  };
  Estimator estimator(uneven, quiet(dir.path()));
  PredictRange rows = estimator.predict(line_without_labels());
  CHECK_THROWS_WITH(rows.begin(), Contains("mean"));
  PredictRange batches = estimator.predict(line_without_labels(), {.yield_single_examples = false});
  CHECK((*batches.begin())["mean"].size(0) == 1);
}

TEST_CASE("strings are predicted row by row too", "[estimator][E11]") {
  const TemporaryDirectory dir;
  const auto naming = [](const Features& features, ModeKeys, ModelContext&) {
    return EstimatorSpec::predict({{"name", features.strings("name")}});
  };
  Estimator estimator(naming, quiet(dir.path()));
  const InputFn names = [] { return Dataset::from_tensors({{"name", StringTensor{"a", "b", "c"}}}).batch(2); };
  std::string all;
  for (const Predictions& row : estimator.predict(names)) all += row.strings("name")[0];
  CHECK(all == "abc");
}

TEST_CASE("without a checkpoint predictions come from initial weights", "[estimator][E11]") {
  const TemporaryDirectory dir;
  Estimator estimator(linear_model_fn, quiet(dir.path()));
  CHECK(estimator.predict(line_features(3))["y"].abs().sum().item<double>() == 0);
}

TEST_CASE("predicting on empty input gives an empty range", "[estimator][E11]") {
  Trained trained;
  PredictRange range = trained.estimator->predict(no_input());
  CHECK(range.begin() == range.end());
}

TEST_CASE("two live ranges, each with its weights, do not disturb each other", "[estimator][E11]") {
  Trained trained;
  PredictRange first = trained.estimator->predict(line_without_labels());
  auto a = first.begin();
  trained.estimator->train(line(), {.steps = 3});
  PredictRange second = trained.estimator->predict(line_without_labels());
  auto b = second.begin();
  const double w = saved(*trained.estimator, "linear/w");
  const double bias = saved(*trained.estimator, "linear/b");
  for (int64_t i = 0; i < 16; ++i, ++a, ++b) {
    CHECK((*a)["y"].item<double>() == Approx(trained.y(i)));
    CHECK((*b)["y"].item<double>() == Approx(static_cast<double>(i) / 16 * w + bias));
  }
  CHECK(a == first.end());
  CHECK(b == second.end());
}

TEST_CASE("a range outlives its Estimator", "[estimator][E11]") {
  Trained trained;
  PredictRange range = trained.estimator->predict(line_without_labels());
  auto row = range.begin();
  trained.estimator.reset();
  ++row;
  CHECK((*row)["y"].item<double>() == Approx(trained.y(1)));
}

TEST_CASE("predicting again from an unchanged checkpoint reads no more than which one it is", "[estimator][E11]") {
  FaultInjectingFileSystem files(posix_file_system());
  Trained trained({.files = &files});
  const at::Tensor before = trained.estimator->predict(line_features(16))["y"];
  files.inject({.kind = FileOperation::kOpen, .path_part = "model.ckpt"});
  const at::Tensor again = trained.estimator->predict(line_features(16))["y"];
  CHECK(torch::equal(before, again));
  CHECK_FALSE(files.fault_happened());
  files.revive();

  trained.estimator->train(line(), {.steps = 3});
  CHECK_FALSE(torch::equal(before, trained.estimator->predict(line_features(16))["y"]));
}

TEST_CASE("a checkpoint that another Estimator writes is used by the next prediction", "[estimator][E11]") {
  Trained trained;
  Estimator reader(linear_model_fn, quiet(trained.dir.path()));
  const at::Tensor before = reader.predict(line_features(16))["y"];
  trained.estimator->train(line(), {.steps = 3});
  const at::Tensor after = reader.predict(line_features(16))["y"];
  CHECK_FALSE(torch::equal(before, after));
  CHECK(torch::equal(after, trained.estimator->predict(line_features(16))["y"]));
}

TEST_CASE("what the model_fn throws in predict comes out, and the Estimator predicts on", "[estimator][E11]") {
  Trained trained;
  const Features wrong = {{"z", torch::ones({2})}};
  CHECK(failure([&] { trained.estimator->predict(wrong); }).kind == ErrorKind::kNotFound);
  CHECK(trained.estimator->predict(line_features(16))["y"][3].item<double>() == Approx(trained.y(3)));
}
