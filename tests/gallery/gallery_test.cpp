#include "gallery.h"

#include <ATen/Parallel.h>
#include <torch/torch.h>

#include <set>

#include "tests/support/temporary_directory.h"
#include "tests/testing.h"

using namespace belfry;
using namespace belfry::testing;

namespace {

// Empty when `got` is `wanted` to 1e-5.
std::string difference(const Value& got, const Value& wanted) {
  if (got.is_strings() != wanted.is_strings()) return "one is strings";
  if (got.is_strings()) return got.strings() == wanted.strings() ? "" : "other strings";
  const at::Tensor& a = got.tensor();
  const at::Tensor& b = wanted.tensor();
  if (a.sizes() != b.sizes() || a.scalar_type() != b.scalar_type()) {
    return concat(a.scalar_type(), a.sizes(), " in place of ", b.scalar_type(), b.sizes());
  }
  if (at::allclose(a.to(at::kDouble), b.to(at::kDouble), 1e-5, 1e-5)) return "";
  return concat("off by ", (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>());
}

void check_served(const GalleryModel& model, Estimator& estimator, const Predictor& predictor, int64_t rows) {
  const TensorDict request = model.request(rows);
  for (const auto& [signature, wanted] : wanted_answers(model, estimator, predictor, request)) {
    const TensorDict answer = predictor.predict(request, signature);
    REQUIRE(answer.names() == wanted.names());
    for (const auto& [name, value] : wanted) {
      INFO(signature << "/" << name << " of " << rows << " rows");
      CHECK(difference(answer.at(name), value) == "");
    }
  }
}

void check_formats(const GalleryModel& model, const ExportResult& exported) {
  CHECK(exported.formats.size() + exported.refusals.size() == 3);
  for (const FormatRefusal& refusal : exported.refusals) {
    INFO(to_string(refusal.format) << ": " << c10::Join("; ", refusal.problems));
    const auto expected = model.refused.find(refusal.format);
    REQUIRE(expected != model.refused.end());
    CHECK_THAT(refusal.problems[0], Catch::Contains(expected->second));
  }
  CHECK(exported.refusals.size() == model.refused.size());
}

void check_model(const GalleryModel& model) {
  const TemporaryDirectory folder;
  at::set_num_threads(1);  // models this small wait for threads more than they compute
  at::manual_seed(3);
  TrainedModel trained = train_and_export(model, folder.path());
  check_formats(model, trained.exported);
  // The one that ONNX has no strings.
  INFO(c10::Join("; ", trained.exported.warnings));
  CHECK(trained.exported.warnings.size() == (model.receiver().graph() ? 1 : 0));
  const Predictor predictor(trained.exported.path);
  for (const int64_t rows : {1, 2, 7, 33}) check_served(model, trained.estimator, predictor, rows);
}

std::set<std::string>& tested() {
  static std::set<std::string> names;
  return names;
}

void check_model(const std::string& name) {
  for (const GalleryModel& model : all_gallery_models()) {
    if (model.name == name) return check_model(model);
  }
  FAIL("there is no model " << name);
}

}  // namespace

// A test each, by name, so that one can be asked for and all can run at once.
#define IS_SERVED(name)                                               \
  static const bool name##_is_tested = tested().insert(#name).second; \
  TEST_CASE(#name " is served as it predicts", "[gallery]") { check_model(#name); }

IS_SERVED(perceptron)
IS_SERVED(perceptron_with_batch_norm_and_dropout)
IS_SERVED(dnn_classifier)
IS_SERVED(logistic_regression)
IS_SERVED(quantile_regression)
IS_SERVED(two_tasks_three_signatures)
IS_SERVED(inputs_normalized_by_buffers)
IS_SERVED(mixture_of_experts)
IS_SERVED(wide_and_deep_of_strings)
IS_SERVED(wide_and_deep_of_examples)
IS_SERVED(lenet)
IS_SERVED(residual_convolutions)
IS_SERVED(separable_convolutions)
IS_SERVED(unet)
IS_SERVED(super_resolution)
IS_SERVED(autoencoder)
IS_SERVED(variational_encoder)
IS_SERVED(convolutions_over_time)
IS_SERVED(causal_convolutions)
IS_SERVED(lstm_classifier)
IS_SERVED(lstm_both_ways)
IS_SERVED(gru_regression)
IS_SERVED(sequence_tagger)
IS_SERVED(transformer_encoder_with_padding)
IS_SERVED(causal_attention_by_hand)
IS_SERVED(attention_pooling)
IS_SERVED(mixer)
IS_SERVED(bag_of_words)
IS_SERVED(weighted_bag_of_words)
IS_SERVED(convolutions_over_text)
IS_SERVED(two_towers)
IS_SERVED(siamese)
IS_SERVED(prototypes)
IS_SERVED(deep_factorization_machine)
IS_SERVED(products_of_fields)

TEST_CASE("Every model of the gallery has its test", "[gallery]") {
  std::set<std::string> all;
  for (const GalleryModel& model : all_gallery_models()) {
    INFO(model.name);
    CHECK(all.insert(model.name).second);
  }
  CHECK(all == tested());
}
