#include "gallery.h"

#include <ATen/ATen.h>

namespace belfry::testing {
namespace {

constexpr int64_t kRows = 48;
constexpr int64_t kSteps = 5;
const std::vector<ExportFormat> kAllFormats{ExportFormat::kTorchScript, ExportFormat::kSavedModel, ExportFormat::kOnnx};

Features features_of(const GalleryModel& model, const TensorDict& request) {
  return model.features ? model.features(request) : request;
}

StringTensor in_each_row(const std::vector<std::string>& names, int64_t rows) {
  std::vector<std::string> all;
  for (int64_t row = 0; row < rows; ++row) all.insert(all.end(), names.begin(), names.end());
  return {std::move(all), {rows, static_cast<int64_t>(names.size())}};
}

InputFn training_input(const GalleryModel& model) {
  const Features features = features_of(model, model.request(kRows));
  const TensorInputOptions options{.batch_size = 16, .num_epochs = kForever, .shuffle = true};
  const Labels labels = model.labels ? model.labels(features) : Labels();
  return labels.empty() ? tensor_input_fn(features, options) : tensor_input_fn(features, labels, options);
}

}  // namespace

GalleryModels all_gallery_models() {
  GalleryModels all;
  for (const auto family : {dense_models, multi_output_models, wide_and_deep_models, image_classifiers,
                            image_to_image_models, encoder_models, convolutions_over_time, recurrent_models,
                            attention_models, mixer_models, text_models, retrieval_models, recommender_models}) {
    for (GalleryModel& model : family()) all.push_back(std::move(model));
  }
  return all;
}

std::function<Estimator(RunConfig config)> estimator_of(ModelFn model_fn) {
  return [model_fn = std::move(model_fn)](RunConfig config) { return Estimator(model_fn, std::move(config)); };
}

at::Tensor some_floats(std::vector<int64_t> shape) { return at::randn(shape); }
at::Tensor some_ids(std::vector<int64_t> shape, int64_t high) { return at::randint(high, shape, at::kLong); }

TrainedModel train_and_export(const GalleryModel& model, const std::string& folder) {
  Estimator estimator = model.estimator({.model_dir = join_path(folder, "model"), .random_seed = 7});
  estimator.train(training_input(model), {.steps = kSteps});
  ExportResult exported =
      estimator.export_saved_model(join_path(folder, "exports"), model.receiver, {.formats = kAllFormats});
  return {std::move(estimator), std::move(exported)};
}

std::map<std::string, TensorDict> wanted_answers(const GalleryModel& model, Estimator& estimator,
                                                 const Predictor& predictor, const TensorDict& request) {
  const Predictions predictions = estimator.predict(features_of(model, request));
  std::map<std::string, TensorDict> answers;
  for (const std::string& signature : predictor.signature_names()) {
    const auto names = model.class_names.find(signature);
    for (const PredictorTensor& output : predictor.signature(signature).outputs) {
      if (output.name == "classes" && names != model.class_names.end()) {
        answers[signature].set(output.name, in_each_row(names->second, request.rows()));
        continue;
      }
      const auto named = model.predictions.find(signature + "/" + output.name);
      const std::string& prediction = named == model.predictions.end() ? output.name : named->second;
      answers[signature].set(output.name, predictions.at(prediction));
    }
  }
  return answers;
}

}  // namespace belfry::testing
