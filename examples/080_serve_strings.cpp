// Strings from a table to a server: a network that tells penguins apart, trained on words and numbers, exported with
// the work on the words, and asked as a server asks it.
//
//   data     examples/data/penguins.csv: 333 penguins with island, sex, four measures and species
//   command  build/release/examples/080_serve_strings examples/data/penguins.csv
//   expect   an accuracy above 0.95 on 66 penguins held back; the species of three, by name, from the exported model;
//   the
//            folder of the export, which TensorFlow Serving takes with strings, as does Predictor; and a warning that
//            the ONNX model in it takes numbers in their place
#include <belfry.h>
#include <torch/torch.h>

#include <iostream>

using namespace belfry;

namespace {

const std::vector<std::string> kSpecies{"Adelie", "Chinstrap", "Gentoo"};
const Vocabulary kIslands({"Biscoe", "Dream", "Torgersen"}, {.num_oov_buckets = 1});  // a server may be asked of others
const Vocabulary kSexes({"female", "male"}, {.num_oov_buckets = 1});

struct NetImpl : torch::nn::Module {
  NetImpl()
      : island(register_module("island", torch::nn::Embedding(4, 2))),
        sex(register_module("sex", torch::nn::Embedding(3, 2))),
        layers(register_module(
            "layers", torch::nn::Sequential(torch::nn::Linear(8, 16), torch::nn::ReLU(), torch::nn::Linear(16, 3)))) {}

  at::Tensor forward(const Features& features) {
    // mm and g to numbers around 0.
    const at::Tensor typical = torch::tensor({44.0F, 17.0F, 200.0F, 4200.0F});
    const at::Tensor spread = torch::tensor({5.5F, 2.0F, 14.0F, 800.0F});
    const at::Tensor measures = (features["measures"] - typical) / spread;
    return layers->forward(torch::cat({measures, island(features["island"]), sex(features["sex"])}, 1));
  }

  torch::nn::Embedding island;
  torch::nn::Embedding sex;
  torch::nn::Sequential layers;
};
TORCH_MODULE(Net);

EstimatorSpec model_fn(const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) {
  auto net = ctx.module<Net>("net");
  const at::Tensor logits = net(features);
  const at::Tensor ids = logits.argmax(1, /*keepdim=*/true);
  if (mode == ModeKeys::kPredict) {
    const Predictions predictions{{"species", ids}, {"probabilities", logits.softmax(1)}};
    return EstimatorSpec::predict(predictions,
                                  {{kServingDefault, PredictOutput{predictions, {{"species", kSpecies}}}}});
  }
  const at::Tensor loss = losses::sparse_softmax_cross_entropy(labels.tensor(), logits, ctx);
  if (mode == ModeKeys::kEval) {
    return EstimatorSpec::eval(loss, {{"accuracy", metrics::accuracy(labels.tensor(), ids.squeeze(1))}});
  }
  return EstimatorSpec::train(loss, Adam({.learning_rate = 0.01}).minimize(loss, ctx));
}

// The rows of the table as the model takes them. What happens to the words here happens to those of a request in
// receiver().
Batch prepared(const Batch& table) {
  const auto measure = [&](const char* name) { return table.features[name].to(torch::kFloat32); };
  Features features;
  features.set("island", kIslands.lookup(table.features.strings("island")));
  features.set("sex", kSexes.lookup(table.features.strings("sex")));
  features.set("measures", torch::stack({measure("bill_length_mm"), measure("bill_depth_mm"),
                                         measure("flipper_length_mm"), measure("body_mass_g")},
                                        1));
  return {features, Vocabulary(kSpecies).lookup(table.labels.only().strings())};
}

ServingInputReceiverFn receiver() {
  return build_raw_serving_input_receiver_fn(
      {{"island", {.dtype = kString, .shape = {-1}}},
       {"sex", {.dtype = kString, .shape = {-1}}},
       {"measures", {.shape = {-1, 4}}}},
      [](ReceiverBuilder& served) {
        for (const auto& [name, words] : {std::pair("island", kIslands), std::pair("sex", kSexes)}) {
          const GraphValue word = served.feature(name);
          served.set_feature(name, served.graph().vocabulary_lookup(word, words));
        }
      });
}

double run(const std::string& path) {
  const Dataset penguins =
      Dataset::from_csv(path, {.label = "species"}).shuffle({.seed = 2026, .reshuffle_each_iteration = false});
  Estimator estimator(model_fn, {.model_dir = ""});
  const auto training = [&] { return penguins.skip(66).shuffle({.seed = 1}).repeat().batch(32).map(prepared); };
  estimator.train(training, {.steps = 400});
  const double accuracy = estimator.evaluate([&] { return penguins.take(66).batch(66).map(prepared); })["accuracy"];
  std::cout << "accuracy " << accuracy << " on 66 penguins held back\n";

  const ExportResult exported = estimator.export_saved_model(
      "penguins_export", receiver(),
      {.formats = {ExportFormat::kTorchScript, ExportFormat::kSavedModel, ExportFormat::kOnnx}});
  for (const FormatRefusal& refusal : exported.refusals) throw std::runtime_error(refusal.problems.at(0));
  const Predictor predictor(exported.path);  // knows nothing of this program
  const TensorDict answers = predictor.predict({{"island", StringTensor({"Torgersen", "Biscoe", "Atlantis"})},
                                                {"sex", StringTensor({"male", "female", ""})},
                                                {"measures", torch::tensor({{39.1F, 18.7F, 181.0F, 3750.0F},
                                                                            {46.1F, 13.2F, 211.0F, 4500.0F},
                                                                            {50.0F, 19.5F, 196.0F, 3900.0F}})}});
  for (const std::string& species : answers.strings("species")) std::cout << "served: " << species << "\n";
  std::cout << "exported to " << exported.path << "\n";
  return accuracy;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: " << argv[0] << " penguins.csv\n";
    return 2;
  }
  try {
    return run(argv[1]) > 0.95 ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
