// Models of many shapes, each written as a program with Belfry would write it: a model_fn, what a request holds, and a
// receiver. They are trained, exported and served by the test here and by the one beside TensorFlow.
#pragma once

#include <belfry.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace belfry::testing {

struct GalleryModel {
  std::string name;  // a file name
  std::function<Estimator(RunConfig config)> estimator;
  // What clients send: so many rows, others at each call.
  std::function<TensorDict(int64_t rows)> request;
  // What the model is taught of such features.
  std::function<Labels(const Features& features)> labels;
  ServingInputReceiverFn receiver;
  // What the program's own input makes of what clients send, as the receiver does in the served model. Empty: nothing.
  std::function<Features(const TensorDict& request)> features = {};
  // Of "SIGNATURE/OUTPUT", the prediction that it serves, where that has another name.
  std::map<std::string, std::string> predictions = {};
  // Of a signature of scores without ids: the names of their columns, which every row gets as "classes".
  std::map<std::string, std::vector<std::string>> class_names = {};
  // Formats that cannot hold the model, with a part of the reason.
  std::map<ExportFormat, std::string> refused = {};
};

using GalleryModels = std::vector<GalleryModel>;

// A file each.
GalleryModels dense_models();
GalleryModels multi_output_models();
GalleryModels wide_and_deep_models();
GalleryModels image_classifiers();
GalleryModels image_to_image_models();
GalleryModels encoder_models();
GalleryModels convolutions_over_time();
GalleryModels recurrent_models();
GalleryModels attention_models();
GalleryModels mixer_models();
GalleryModels text_models();
GalleryModels retrieval_models();
GalleryModels recommender_models();

GalleryModels all_gallery_models();

// An Estimator of a model_fn, as GalleryModel::estimator.
std::function<Estimator(RunConfig config)> estimator_of(ModelFn model_fn);

// Numbers of a normal distribution, and ids of [0, high).
at::Tensor some_floats(std::vector<int64_t> shape);
at::Tensor some_ids(std::vector<int64_t> shape, int64_t high);

// A model after a few steps, its export, and the numbers to compare with.
struct TrainedModel {
  Estimator estimator;
  ExportResult exported;
};
// Trains in FOLDER/model, exports to FOLDER/exports in every format.
TrainedModel train_and_export(const GalleryModel& model, const std::string& folder);

// What an export answers to a request, by signature: from Estimator::predict on the same rows.
std::map<std::string, TensorDict> wanted_answers(const GalleryModel& model, Estimator& estimator,
                                                 const Predictor& predictor, const TensorDict& request);

}  // namespace belfry::testing
