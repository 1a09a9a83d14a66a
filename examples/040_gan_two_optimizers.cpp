// Two optimizers and two losses in one model_fn, over two towers: a small generative adversarial network that learns to
// make points of the plane like those that it is shown.
//
//   data     none but what the program makes itself: points of a normal distribution
//   command  build/release/examples/040_gan_two_optimizers
//   expect   step 3000 after some seconds, and for both coordinates a mean and a spread of 4,000 generated points that
//            are within 0.25 of those of the real ones (3 and -1; 1 and 0.5)
#include <belfry.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>

using namespace belfry;

namespace {

constexpr int64_t kNoise = 2;      // numbers that a point is made of
constexpr double kCloseTo = 0.25;  // how near means and spreads have to come

struct NetImpl : torch::nn::Module {
  NetImpl(int64_t in, int64_t hidden, int64_t out)
      : first(register_module("first", torch::nn::Linear(in, hidden))),
        second(register_module("second", torch::nn::Linear(hidden, hidden))),
        last(register_module("last", torch::nn::Linear(hidden, out))) {}

  at::Tensor forward(const at::Tensor& x) {
    return last(torch::leaky_relu(second(torch::leaky_relu(first(x), 0.2)), 0.2));
  }

  torch::nn::Linear first;
  torch::nn::Linear second;
  torch::nn::Linear last;
};
TORCH_MODULE(Net);

// The variables of the module that ctx.module() gave under this name: what one of the optimizers may move.
std::vector<std::string> variables_of(const std::string& name, const Net& net) {
  std::vector<std::string> names;
  for (const auto& parameter : net->named_parameters()) {
    std::string path = parameter.key();
    std::replace(path.begin(), path.end(), '.', '/');
    names.push_back(name + "/" + path);
  }
  return names;
}

// Tells real points from generated ones; each half of the loss is a mean over the step's rows, whatever the towers get.
at::Tensor judged(const at::Tensor& logits, double label, ModelContext& ctx) {
  return losses::sigmoid_cross_entropy(torch::full_like(logits, label), logits, ctx);
}

EstimatorSpec model_fn(const Features& features, const Labels&, ModeKeys mode, ModelContext& ctx) {
  auto generator = ctx.module<Net>("generator", kNoise, 32, 2);
  if (mode == ModeKeys::kPredict) return EstimatorSpec::predict({{"points", generator(features["noise"])}});

  auto discriminator = ctx.module<Net>("discriminator", 2, 32, 1);
  const at::Tensor& real = features["points"];
  const at::Tensor generated = generator(torch::randn({real.size(0), kNoise}, real.options()));  // each tower draws its own
  const at::Tensor discriminator_loss =
      judged(discriminator(real), 0.9, ctx) + judged(discriminator(generated.detach()), 0, ctx);
  const at::Tensor generator_loss = judged(discriminator(generated), 1, ctx);
  if (mode == ModeKeys::kEval) return EstimatorSpec::eval(generator_loss);

  // Both see the values from before the step, and are applied one after the other.
  const TowerOptimizer of_discriminator(Adam({.learning_rate = 2e-3, .beta1 = 0.5, .name = "DiscriminatorAdam"}));
  const TowerOptimizer of_generator(Adam({.learning_rate = 1e-3, .beta1 = 0.5, .name = "GeneratorAdam"}));
  const TrainOp train_op = group(
      {of_discriminator.minimize(discriminator_loss, ctx, {.var_list = variables_of("discriminator", discriminator)}),
       of_generator.minimize(generator_loss, ctx, {.var_list = variables_of("generator", generator)})});
  return EstimatorSpec::train(generator_loss, train_op);
}

at::Tensor real_points(int64_t count) {
  const at::Tensor centre = torch::tensor({3.0F, -1.0F});
  const at::Tensor spread = torch::tensor({1.0F, 0.5F});
  return centre + spread * torch::randn({count, 2});
}

// Says both for one coordinate of the plane, and whether they are close.
bool compare(const char* what, const at::Tensor& generated, const at::Tensor& real, int64_t coordinate) {
  const auto made = generated[coordinate].item<double>();
  const auto wanted = real[coordinate].item<double>();
  std::printf("%s of coordinate %d: %.2f, of the real points %.2f\n", what, static_cast<int>(coordinate), made, wanted);
  return std::abs(made - wanted) < kCloseTo;
}

}  // namespace

int main() {
  try {
    torch::manual_seed(1);
    const at::Tensor points = real_points(8000);
    const auto training = [&] {
      return Dataset::from_tensors({{"points", points}}).shuffle({.seed = 1}).repeat().batch(256);
    };
    Estimator estimator(replicate_model_fn(model_fn, {.devices = {"cpu:0", "cpu:1"}}), {.random_seed = 1});
    const TrainResult trained = estimator.train(training, {.steps = 3000});
    std::printf("step %d\n", static_cast<int>(trained.global_step));

    const at::Tensor generated = estimator.predict({{"noise", torch::randn({4000, kNoise})}})["points"];
    bool close = true;
    for (const int64_t coordinate : {0, 1}) {
      close = compare("mean", generated.mean(0), points.mean(0), coordinate) && close;
      close = compare("spread", generated.std(0), points.std(0), coordinate) && close;
    }
    std::puts(close ? "the generated points are like the real ones"
                    : "the generated points are not like the real ones");
    return close ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
