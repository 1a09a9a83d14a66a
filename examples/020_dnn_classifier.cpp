// A canned estimator from data to export: a deep network that reads handwritten digits.
//
//   data     examples/data/digits.csv: 1,797 images of 8 x 8 pixels (0 to 16) and the digit; 360 are held back
//   command  build/release/examples/020_dnn_classifier --data examples/data/digits.csv
//            --help lists what else may be said. The same command after a kill goes on from the last checkpoint; after
//            the last step it trains no more. Another folder (--model_dir) starts anew.
//   expect   progress; 0.97 or more of the held back digits read right; five of them; and the folder of the export,
//            whose torchscript/model.pt is served by torch.jit.load without this program
#include <belfry.h>
#include <torch/types.h>

#include <boost/program_options.hpp>

#include <iostream>

namespace po = boost::program_options;
using namespace belfry;

namespace {

struct Settings {
  std::string data;
  std::string model_dir;
  std::string export_dir;
  int towers = 2;
  int64_t steps = 1500;
};

// False when only help was wanted.
bool parse(int argc, char** argv, Settings& settings) {
  po::options_description options("020_dnn_classifier, a deep network that reads digits");
  options.add_options()                                                                                          //
      ("help", "this text")                                                                                      //
      ("data", po::value(&settings.data)->required(), "digits.csv")                                              //
      ("towers", po::value(&settings.towers)->default_value(2), "devices that share a batch: cpu:0, cpu:1 ...")  //
      ("steps", po::value(&settings.steps)->default_value(1500), "global step at which training ends")           //
      ("model_dir", po::value(&settings.model_dir)->default_value("digits_model"), "checkpoints and summaries")  //
      ("export_dir", po::value(&settings.export_dir)->default_value("digits_export"), "a folder for each export");
  po::variables_map given;
  po::store(po::parse_command_line(argc, argv, options), given);
  if (given.count("help")) {
    std::cout << options << "\n";
    return false;
  }
  po::notify(given);
  require(settings.towers >= 1, "--towers is ", settings.towers, "; 1 or more is wanted");
  return true;
}

std::vector<std::string> devices(int towers) {
  std::vector<std::string> names;
  for (int i = 0; i < towers; ++i) names.push_back("cpu:" + std::to_string(i));
  return names;
}

DNNClassifier make_classifier(const Settings& settings) {
  // Pixels are 0 to 16; the served model takes them so, too.
  const auto pixels =
      feature_column::numeric_column("x", {.shape = {64}, .normalizer_fn = [](const at::Tensor& x) { return x / 16; }});
  const auto falling_rate = [steps = settings.steps](int64_t step) {
    return 0.003 * (1 - static_cast<double>(step) / static_cast<double>(steps));
  };
  return DNNClassifier({.hidden_units = {128, 64},
                        .feature_columns = {pixels},
                        .n_classes = 10,
                        .optimizer = TowerOptimizer(Adam({.learning_rate = falling_rate})),
                        .dropout = 0.4},
                       {.model_dir = settings.model_dir, .save_checkpoints_steps = 250, .log_step_count_steps = 250},
                       replicate({.devices = devices(settings.towers)}));
}

void run(const Settings& settings) {
  // One order for good, from which a fifth is held back; the rest is shuffled anew for each pass.
  const Dataset digits =
      Dataset::from_csv(settings.data, {.label = "digit", .matrix = "x", .dtypes = {{"digit", CsvType::kInt64}}})
          .shuffle({.seed = 2026, .reshuffle_each_iteration = false});
  const Dataset held_back = digits.take(360);
  const auto training = [&] { return digits.skip(360).shuffle({.seed = 1}).repeat().batch(64); };

  DNNClassifier classifier = make_classifier(settings);
  const TrainResult trained = classifier.train(training, {.max_steps = settings.steps});
  std::cout << "step " << trained.global_step << ", of which " << trained.steps << " were made now\n";

  const EvalResult result = classifier.evaluate([&] { return held_back.batch(128); });
  std::cout << "of " << result.rows() << " digits held back: accuracy " << result["accuracy"] << ", loss "
            << result["average_loss"] << "\n";

  for (const Predictions& row : classifier.predict([&] { return held_back.take(5).batch(5); })) {
    const auto digit = row["class_ids"].item<int64_t>();
    std::cout << "digit " << digit << " with probability " << row["probabilities"][digit].item<float>() << "\n";
  }

  const auto receiver = build_raw_serving_input_receiver_fn({{"x", {.dtype = at::kFloat, .shape = {-1, 64}}}});
  std::cout << "exported to " << classifier.export_saved_model(settings.export_dir, receiver).path << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  try {
    Settings settings;
    if (parse(argc, argv, settings)) run(settings);
    return 0;
  } catch (const po::error& error) {
    std::cerr << error.what() << "\nusage: " << argv[0] << " --data digits.csv [option ...]; --help lists them\n";
    return 2;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
