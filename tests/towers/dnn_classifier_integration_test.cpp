// The integration case of tf.contrib's replicate_model_fn, as a user would write it: a DNNClassifier over three
// devices, on numbers and an embedded category, trained, evaluated, asked for predictions, exported and served.
#include "tests/testing.h"
// testing.h has to come first

#include <ATen/CPUGeneratorImpl.h>
#include <torch/script.h>

#include <cmath>

#include "data/tensor_input_fn.h"
#include "distribute/central_storage_strategy.h"
#include "distribute/mirrored_strategy.h"
#include "estimator/canned/dnn_classifier.h"
#include "estimator/feature_column/dense_column.h"
#include "estimator/feature_column/numeric_column.h"
#include "estimator/model_context.h"
#include "optimizers/adagrad.h"
#include "tests/export/loaded_model.h"
#include "tests/support/temporary_directory.h"
#include "towers/replicate_model_fn.h"

namespace {

using namespace belfry;

constexpr int64_t kRows = 12;

// A feature column of one's own: an id among those of a vocabulary, embedded in a few numbers that are learned. An id
// that is not in the vocabulary is embedded as zeros.
class EmbeddedIdColumn : public DenseColumn {
 public:
  EmbeddedIdColumn(std::string key, const std::vector<int64_t>& vocabulary, int64_t dimension)
      : key_(std::move(key)), known_(at::tensor(vocabulary, at::kLong)), dimension_(dimension) {}

  std::string name() const override { return key_ + "_embedding"; }
  int64_t width() const override { return dimension_; }

  at::Tensor dense(const Features& features, ModelContext& ctx) const override {
    const int64_t words = known_.numel();
    const at::Tensor weights = ctx.variable("dnn/input_layer/" + name() + "/embedding_weights", [&] {
      return at::randn({words, dimension_}) / std::sqrt(static_cast<double>(dimension_));
    });
    const at::Tensor ids = features[key_].reshape({-1, 1});
    return ids.eq(known_.to(ids.device()).unsqueeze(0)).to(weights.scalar_type()).matmul(weights);
  }

 private:
  std::string key_;
  at::Tensor known_;  // read by all towers
  int64_t dimension_;
};

struct Data {
  Features features;
  at::Tensor labels;
};

// 24 points from 0 to 2 as [12, 2], a random category of 0 to 12, and as labels the first 12 points, rounded: of the
// three classes the last never occurs.
Data make_data() {
  at::Generator generator = at::detail::createCPUGenerator(12);
  const at::Tensor points = at::linspace(0, 2, 2 * kRows, at::kFloat);
  return {{{"x", points.reshape({kRows, 2})}, {"category", at::randint(0, 13, {kRows}, generator, at::kLong)}},
          points.narrow(0, 0, kRows).round().to(at::kLong)};
}

DNNClassifierOptions classifier_options(LossReduction of_network) {
  const std::vector<int64_t> vocabulary{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12};
  return {.hidden_units = {2, 2},
          .feature_columns = {feature_column::numeric_column("x", {.shape = {2}}),
                              std::make_shared<EmbeddedIdColumn>("category", vocabulary, 1)},
          .n_classes = 3,
          .optimizer = []() -> Optimizer { return Adagrad({.learning_rate = 0.05}); },
          .loss_reduction = of_network};
}

ServingInputReceiverFn receiver() {
  return build_raw_serving_input_receiver_fn(
      {{"x", {.shape = {-1, 2}}}, {"category", {.dtype = at::kLong, .shape = {-1}, .low = 0, .high = 13}}});
}

// Served without Belfry: scores of the rows, one request for each.
void check_served(const std::string& path, const Features& features, const at::Tensor& probabilities) {
  torch::jit::Module served = torch::jit::load(path + "/torchscript/model.pt");
  for (const int64_t rows : {int64_t{1}, int64_t{4}, kRows}) {
    INFO(rows << " rows");
    const std::vector<at::Tensor> outputs = testing::call(served, "forward", features.narrow(0, rows));
    REQUIRE(outputs[0].sizes() == at::IntArrayRef{rows, 3});
    CHECK(at::allclose(outputs[0], probabilities.narrow(0, 0, rows), 1e-5, 1e-6));
  }
}

at::Tensor predicted_rows(DNNClassifier& classifier, const Features& features) {
  std::vector<at::Tensor> rows;
  const InputFn input = tensor_input_fn(features, {.batch_size = kRows, .shuffle = false});
  for (const Predictions& row : classifier.predict(input)) rows.push_back(row["probabilities"]);
  return at::stack(rows);
}

// Gives the probabilities that it ends with. Under a strategy its replicas share the batch.
at::Tensor complete_flow(LossReduction of_network, const ModelFnTransform& transform,
                         std::shared_ptr<const Strategy> strategy = nullptr) {
  const testing::TemporaryDirectory directory;
  const Data data = make_data();
  const int64_t batch = kRows / (strategy ? strategy->num_replicas_in_sync() : 1);
  DNNClassifier classifier(
      classifier_options(of_network),
      {.model_dir = directory.file("model"), .train_distribute = strategy, .eval_distribute = strategy}, transform);
  classifier.train(tensor_input_fn(data.features, data.labels,
                                   {.batch_size = batch, .num_epochs = kForever, .shuffle = true, .seed = 1}),
                   {.steps = 10});

  const EvalResult result =
      classifier.evaluate(tensor_input_fn(data.features, data.labels, {.batch_size = batch, .shuffle = false}));
  CHECK(result.global_step() == 10);
  CHECK(std::isfinite(result.loss()));
  CHECK(result.loss() > 0);
  CHECK(result.contains("accuracy"));

  const at::Tensor probabilities = predicted_rows(classifier, data.features);
  REQUIRE(probabilities.sizes() == at::IntArrayRef{kRows, 3});
  CHECK(at::allclose(probabilities.sum(1), at::ones({kRows})));

  const ExportResult exported = classifier.export_saved_model(directory.file("exports"), receiver());
  CHECK(exported.warnings.empty());
  check_served(exported.path, data.features, probabilities);
  return probabilities;
}

ModelFnTransform three_devices(LossReduction reduction, TowerWeighting weighting = TowerWeighting::kExact) {
  return replicate({.loss_reduction = reduction, .devices = {"/cpu:0", "/cpu:1", "/cpu:2"}, .weighting = weighting});
}

constexpr LossReduction kReductions[] = {LossReduction::kSum, LossReduction::kMean, LossReduction::kSumOverBatchSize,
                                         LossReduction::kSumByNonzeroWeights};

TEST_CASE("DNNClassifierIntegration: complete flow, for each loss reduction, as on one device",
          "[towers][canned][R3][R12][R17][R18][R22]") {
  for (const LossReduction reduction : kReductions) {
    INFO(to_string(reduction));
    const at::Tensor one = complete_flow(reduction, {});
    const at::Tensor three = complete_flow(reduction, three_devices(reduction));
    CHECK(at::allclose(one, three, 1e-4, 1e-5));
  }
}

TEST_CASE("the complete flow of a DNNClassifier under a strategy is that of one device", "[distribute][canned][E121]") {
  const auto devices = std::vector<std::string>{"cpu:0", "cpu:1", "cpu:2"};
  const at::Tensor one = complete_flow(LossReduction::kSumOverBatchSize, {});
  for (const std::shared_ptr<const Strategy>& strategy :
       {std::shared_ptr<const Strategy>(
            std::make_shared<MirroredStrategy>(MirroredStrategyOptions{.devices = devices})),
        std::shared_ptr<const Strategy>(
            std::make_shared<CentralStorageStrategy>(CentralStorageStrategyOptions{.compute_devices = devices}))}) {
    INFO(strategy->name());
    CHECK(at::allclose(complete_flow(LossReduction::kSumOverBatchSize, {}, strategy), one, 1e-4, 1e-5));
  }
}

// As the original's test has it: the network's own reduction is SUM whatever replicate_model_fn is told.
TEST_CASE("DNNClassifierIntegration: complete flow, a network of SUM under every reduction of replicate_model_fn",
          "[towers][canned][R3][R12][R22]") {
  for (const TowerWeighting weighting : {TowerWeighting::kExact, TowerWeighting::kTensorFlow}) {
    for (const LossReduction reduction : kReductions) {
      INFO(to_string(reduction));
      complete_flow(LossReduction::kSum, three_devices(reduction, weighting));
    }
  }
}

}  // namespace
