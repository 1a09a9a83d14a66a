// An estimator of one's own: a subclass of Estimator with its own options, made of public headers only.
//
//   data     examples/data/iris_train.csv and iris_test.csv: four lengths of 120 and 30 flowers, and their species
//   command  build/release/examples/030_subclass_estimator examples/data/iris_train.csv examples/data/iris_test.csv
//   expect   step 400, an accuracy of 0.9 or more on the flowers of the second file, and the species of three of them
#include <belfry.h>
#include <torch/torch.h>

#include <iostream>

using namespace belfry;

// --- What a library of estimators would have in a header ---

struct ResidualClassifierOptions {
  DenseColumns feature_columns = {};
  std::vector<std::string> label_vocabulary = {};  // three names or more; labels are strings
  int64_t width = 16;
  int64_t blocks = 2;
  CannedOptimizer optimizer = "Adam";
};

// Tells classes apart by a network of residual blocks: x + relu(x W + b).
class ResidualClassifier : public Estimator {
 public:
  // kInvalidArgument, naming the option, for what cannot be right.
  explicit ResidualClassifier(const ResidualClassifierOptions& options, RunConfig config = {},
                              const ModelFnTransform& transform = {});
};

// --- and in a source file ---

namespace {

struct ResidualNetImpl : torch::nn::Module {
  ResidualNetImpl(int64_t inputs, int64_t width, int64_t blocks, int64_t classes)
      : input(register_module("input", torch::nn::Linear(inputs, width))),
        logits(register_module("logits", torch::nn::Linear(width, classes))) {
    for (int64_t i = 0; i < blocks; ++i) {
      residual.push_back(register_module("block_" + std::to_string(i), torch::nn::Linear(width, width)));
    }
  }

  at::Tensor forward(const at::Tensor& x) {
    at::Tensor y = input(x);
    for (auto& block : residual) y = y + torch::relu(block(y));
    return logits(y);
  }

  torch::nn::Linear input;
  torch::nn::Linear logits;
  std::vector<torch::nn::Linear> residual;
};
TORCH_MODULE(ResidualNet);

ModelFn residual_model_fn(const ResidualClassifierOptions& options, const ModelFnTransform& transform) {
  require(options.width >= 1, "ResidualClassifier: width is ", options.width, "; 1 or more is wanted");
  require(options.blocks >= 0, "ResidualClassifier: blocks is ", options.blocks, "; 0 or more is wanted");
  const auto classes = static_cast<int64_t>(options.label_vocabulary.size());
  const MultiClassHead head(classes, {.label_vocabulary = options.label_vocabulary});
  const DenseColumns columns = feature_column::sorted_by_name(options.feature_columns);

  // Towers call it from several threads at once: what it holds is only read.
  ModelFn model_fn = [=](const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
    auto net = ctx.module<ResidualNet>("residual", feature_column::total_width(columns), options.width, options.blocks,
                                       classes);
    const at::Tensor logits = net(feature_column::input_layer(features, columns, ctx));
    return head.create_estimator_spec(features, mode, logits, labels, options.optimizer.optimizer(), ctx);
  };
  return transform ? transform(std::move(model_fn)) : model_fn;
}

}  // namespace

ResidualClassifier::ResidualClassifier(const ResidualClassifierOptions& options, RunConfig config,
                                       const ModelFnTransform& transform)
    : Estimator(residual_model_fn(options, transform), std::move(config)) {}

// --- Its use ---

namespace {

DenseColumns flower_columns() {
  DenseColumns columns;
  for (const char* name : {"sepal_length", "sepal_width", "petal_length", "petal_width"}) {
    columns.push_back(feature_column::numeric_column(name));
  }
  return columns;
}

void run(const std::string& training_file, const std::string& test_file) {
  const Dataset training = Dataset::from_csv(training_file, {.label = "species"});
  const Dataset test = Dataset::from_csv(test_file, {.label = "species"});
  ResidualClassifier classifier({.feature_columns = flower_columns(),
                                 .label_vocabulary = {"setosa", "versicolor", "virginica"},
                                 .optimizer = Adam({.learning_rate = 0.01})},
                                {}, replicate({.devices = {"cpu:0", "cpu:1"}}));

  const TrainResult trained =
      classifier.train([&] { return training.shuffle({.seed = 1}).repeat().batch(30); }, {.steps = 400});
  const EvalResult result = classifier.evaluate([&] { return test.batch(30); });
  std::cout << "step " << trained.global_step << ", accuracy " << result["accuracy"] << "\n";
  for (const Predictions& row : classifier.predict([&] { return test.take(3).batch(3); })) {
    std::cout << "species " << row.strings("classes")[0] << "\n";
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: " << argv[0] << " iris_train.csv iris_test.csv\n";
    return 2;
  }
  try {
    run(argv[1], argv[2]);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
