// What export_saved_model is asked for besides a model: extra files, text, and weights as variables.
#include "tests/testing.h"
// testing.h has to come first

#include <ATen/ATen.h>

#include <google/protobuf/util/message_differencer.h>

#include "checkpoint/checkpoint_reader.h"
#include "core/error.h"
#include "core/file_system.h"
#include "estimator/losses/losses.h"
#include "export/predictor.h"
#include "linear_model.h"
#include "optimizers/momentum.h"
#include "tests/support/check_fails.h"
#include "tests/support/saved_model_file.h"
#include "tests/support/temporary_directory.h"

using namespace belfry;
using namespace belfry::testing;

namespace {

ServingInputReceiverFn receiver() { return build_raw_serving_input_receiver_fn({{"x", {.shape = {-1}}}}); }

Estimator trained(const TemporaryDirectory& dir) {
  Estimator estimator(linear_model_fn, quiet(dir.file("model")));
  estimator.train(line(), {.steps = 3});
  return estimator;
}

}  // namespace

TEST_CASE("extra files lie in the export of an Estimator", "[estimator][E12][E72]") {
  const TemporaryDirectory dir;
  Estimator estimator = trained(dir);
  write_file_atomically(posix_file_system(), dir.file("warmup"), "requests");
  const auto exported = [&](const std::map<std::string, std::string>& files) {
    return estimator.export_saved_model(dir.file("exports"), receiver(), {.assets_extra = files});
  };
  CHECK_FAILS(exported({{"warmup", dir.file("absent")}}), ErrorKind::kNotFound, "absent");
  CHECK_FALSE(posix_file_system().exists(dir.file("exports")));
  const std::string path = exported({{"deep/tf_serving_warmup_requests", dir.file("warmup")}}).path;
  CHECK(read_file(posix_file_system(), path + "/assets.extra/deep/tf_serving_warmup_requests") == "requests");
}

TEST_CASE("an Estimator's SavedModel as text is the one in bytes", "[estimator][E12]") {
  const TemporaryDirectory dir;
  Estimator estimator = trained(dir);
  const auto exported = [&](const SavedModelOptions& options) {
    return estimator.export_saved_model(dir.file("exports"), receiver(), {.saved_model = options}).path;
  };
  const std::string text = exported({.as_text = true});
  CHECK_FALSE(posix_file_system().exists(text + "/saved_model.pb"));
  const std::string bytes = exported({});
  CHECK_FALSE(posix_file_system().exists(bytes + "/saved_model.pbtxt"));
  const proto::SavedModel wanted = read_saved_model(bytes + "/saved_model.pb");
  CHECK(wanted.meta_graphs(0).signature_def().at(kServingDefault).outputs().contains("y"));
  CHECK(google::protobuf::util::MessageDifferencer::Equals(read_saved_model(text + "/saved_model.pbtxt"), wanted));
}

TEST_CASE("variables of a SavedModel are those of the Estimator, without the optimizer's", "[estimator][E12]") {
  const TemporaryDirectory dir;
  const auto model_fn = [](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    if (mode != ModeKeys::kTrain) return linear_model_fn(features, labels, mode, ctx);
    const at::Tensor loss = losses::mean_squared_error(labels.tensor(), linear_output(features, ctx), ctx);
    return EstimatorSpec::train(loss, Momentum({.learning_rate = 0.1}).minimize(loss, ctx));
  };
  Estimator estimator(model_fn, quiet(dir.file("model")));
  estimator.train(line(), {.steps = 3});
  const bool as_text = GENERATE(false, true);
  const ExportResult result = estimator.export_saved_model(
      dir.file("exports"), receiver(), {.saved_model = {.weights = SavedModelWeights::kVariables, .as_text = as_text}});
  CHECK(posix_file_system().exists(result.path + (as_text ? "/saved_model.pbtxt" : "/saved_model.pb")));

  const CheckpointReader variables(result.path + "/variables/variables", posix_file_system());
  CHECK(variables.variables().size() == 2);
  for (const char* name : {"linear/w", "linear/b"}) {
    INFO(name);
    CHECK(variables.tensor(name).equal(estimator.get_variable_value(name)));
    CHECK(variables.tensor(name).item<float>() != 0);
  }
  // The weights beside it leave the other formats as they are.
  const Features features = line_features(5);
  CHECK(at::allclose(Predictor(result.path).predict(features)["y"], estimator.predict(features)["y"]));
}
