// N towers give what one device gives: random models, losses, optimizers and batches.
#include "tests/testing.h"
// testing.h has to come first

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <random>

#include "estimator/losses/losses.h"
#include "optimizers/adagrad.h"
#include "optimizers/adam.h"
#include "optimizers/clip_gradients.h"
#include "optimizers/ftrl.h"
#include "optimizers/gradient_descent.h"
#include "optimizers/momentum.h"
#include "optimizers/rms_prop.h"
#include "tests/support/sanitized.h"
#include "tests/towers/tower_runner.h"

namespace belfry {
namespace {

constexpr int64_t kInputs = 5;
constexpr int64_t kUnits = 6;
constexpr int64_t kClasses = 4;
constexpr int64_t kVocabulary = 7;
constexpr int64_t kParts = 3;
constexpr int kOptimizers = 6;  // of make_optimizer

// Terms of the loss. A model has any of them, added up.
enum Term : unsigned {
  kWeightedCrossEntropy = 1,  // weights with zeros, reduced as the recipe says
  kWeightedMean = 2,
  kPlainMean = 4,
  kConditional = 8,  // only where a row has weight 0
  kMasked = 16,      // a mean over [rows * parts]
  kPenalty = 32,
  kSummed = 64,
  kNotLinear = 128,  // of a sum over all towers
  kAllTerms = 255,
};

struct Recipe {
  unsigned terms = kPlainMean;
  int optimizer = 0;
  bool sparse = false;          // row-sparse gradients of an embedding
  bool clip = false;            // between compute_gradients and apply_gradients
  bool two_optimizers = false;  // over two halves of the variables
  LossReduction within = LossReduction::kSumByNonzeroWeights;
  LossReduction across = LossReduction::kSumByNonzeroWeights;
  int towers = 2;
  int64_t min_rows = 1;
  at::ScalarType dtype = at::kDouble;
};

std::ostream& operator<<(std::ostream& out, const Recipe& r) {
  return out << "terms " << r.terms << ", optimizer " << r.optimizer << ", sparse " << r.sparse << ", clip " << r.clip
             << ", two optimizers " << r.two_optimizers << ", " << to_string(r.within) << " within and "
             << to_string(r.across) << " across " << r.towers << " towers, min rows " << r.min_rows << ", " << r.dtype;
}

Optimizer make_optimizer(int kind, const std::string& name = "") {
  switch (kind) {
    case 0:
      return GradientDescent({.learning_rate = 0.05, .name = name});
    case 1:
      return Momentum({.learning_rate = 0.02, .name = name});
    case 2:
      return Adagrad({.learning_rate = 0.05, .name = name});
    case 3:
      return Ftrl({.learning_rate = 0.05, .l2_regularization_strength = 0.01, .name = name});
    case 4:
      return RMSProp({.learning_rate = 0.002, .name = name});
    default:
      return Adam({.learning_rate = 0.002, .name = name});
  }
}

at::Tensor make_variable(ModelContext& ctx, const std::string& name, at::IntArrayRef shape, at::ScalarType dtype) {
  return ctx.variable(name, [&] { return at::randn(shape, dtype).mul_(0.5); });
}

struct Forward {
  at::Tensor hidden;
  at::Tensor logits;
  at::Tensor value;
  at::Tensor kernel;
};

Forward forward(const Recipe& r, const Features& features, ModelContext& ctx) {
  Forward out;
  out.kernel = make_variable(ctx, "hidden/kernel", {kInputs, kUnits}, r.dtype);
  at::Tensor sum = features["x"].matmul(out.kernel) + make_variable(ctx, "hidden/bias", {kUnits}, r.dtype);
  if (r.sparse) {
    const at::Tensor table = make_variable(ctx, "table", {kVocabulary, kUnits}, r.dtype);
    sum = sum + at::embedding(table, features["ids"], -1, false, /*sparse=*/true);
  }
  out.hidden = sum.tanh();
  out.logits = out.hidden.matmul(make_variable(ctx, "logits/kernel", {kUnits, kClasses}, r.dtype));
  out.value = out.hidden.matmul(make_variable(ctx, "value/kernel", {kUnits, 1}, r.dtype));
  return out;
}

at::Tensor loss_of(const Recipe& r, const Forward& out, const Features& features, const Labels& labels,
                   ModelContext& ctx) {
  const at::Tensor& weight = features["weight"];
  const at::Tensor& target = labels["target"];
  at::Tensor loss = out.logits.sum() * 0 + out.value.sum() * 0;
  if (r.terms & kWeightedCrossEntropy) {
    loss = loss + losses::sparse_softmax_cross_entropy(labels["class"], out.logits, ctx,
                                                       {.weights = weight, .reduction = r.within});
  }
  if (r.terms & kWeightedMean) {
    loss = loss +
           losses::mean_squared_error(target, out.value, ctx, {.weights = weight, .reduction = LossReduction::kMean});
  }
  if (r.terms & kPlainMean) {
    loss = loss + losses::huber_loss(target, out.value, ctx, {{.reduction = LossReduction::kSumOverBatchSize}});
  }
  if ((r.terms & kConditional) && weight.eq(0).any().item<bool>()) {
    loss = loss + losses::mean(out.hidden.square().sum(1), ctx, weight.eq(0).to(r.dtype));
  }
  if (r.terms & kMasked) {
    const at::Tensor flat = (out.hidden.narrow(1, 0, kParts) - features["parts"]).abs().reshape({-1});
    loss = loss + losses::mean(flat, ctx, features["mask"].reshape({-1}));
  }
  if (r.terms & kPenalty) loss = loss + losses::penalty(0.05 * out.kernel.square().sum(), ctx);
  if (r.terms & kSummed) {
    loss = loss + 0.05 * losses::absolute_difference(target, out.value, ctx, {.reduction = LossReduction::kSum});
  }
  if (r.terms & kNotLinear) {
    loss = loss + losses::penalty((1 + ctx.global_sum(out.value.square().sum())).log(), ctx);
  }
  return loss;
}

TrainOp updates_of(const Recipe& r, const at::Tensor& loss, ModelContext& ctx) {
  if (r.two_optimizers) {
    TowerOptimizer first(make_optimizer(r.optimizer, "first"));
    TowerOptimizer second(make_optimizer((r.optimizer + 1) % kOptimizers, "second"));
    return group({first.minimize(loss, ctx, {.var_list = {"hidden/kernel", "hidden/bias"}}),
                  second.minimize(loss, ctx, {.var_list = {"logits/kernel", "value/kernel"}})});
  }
  TowerOptimizer optimizer(make_optimizer(r.optimizer));
  if (!r.clip) return optimizer.minimize(loss, ctx);
  return optimizer.apply_gradients(clip_by_global_norm(optimizer.compute_gradients(loss, ctx), 0.3), ctx);
}

ModelFn model_fn_of(const Recipe& r) {
  return [r](const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
    const at::Tensor loss = loss_of(r, forward(r, features, ctx), features, labels, ctx);
    return EstimatorSpec::train(loss, updates_of(r, loss, ctx));
  };
}

// Batches of 1 to 13 rows; the zero weights lie together, so that some towers have none and some have no others.
class Batches {
 public:
  Batches(uint64_t seed, at::ScalarType dtype)
      : dtype_(dtype), numbers_(seed), generator_(at::detail::createCPUGenerator(seed)) {}

  Batch next() {
    const auto rows = static_cast<int64_t>(1 + numbers_() % 13);
    at::Tensor weight = at::rand({rows}, generator_, dtype_) + 0.1;
    const auto zeros = static_cast<int64_t>(numbers_() % static_cast<uint64_t>(rows + 1));
    if (numbers_() % 3 != 0) weight.narrow(0, numbers_() % 2 ? 0 : rows - zeros, zeros).zero_();
    const at::Tensor mask = (at::rand({rows, kParts}, generator_, dtype_) < 0.4).to(dtype_);
    return {{{"x", at::randn({rows, kInputs}, generator_, dtype_)},
             {"weight", weight},
             {"parts", at::randn({rows, kParts}, generator_, dtype_)},
             {"mask", mask},
             {"ids", at::randint(0, kVocabulary, {rows}, generator_, at::kLong)}},
            {{"class", at::randint(0, kClasses, {rows}, generator_, at::kLong)},
             {"target", at::randn({rows, 1}, generator_, dtype_)}}};
  }

 private:
  at::ScalarType dtype_;
  std::mt19937_64 numbers_;
  at::Generator generator_;
};

void check_towers(const Recipe& recipe, uint64_t seed, int steps, double tolerance) {
  INFO(recipe << ", seed " << seed);
  testing::TowerRunner one(model_fn_of(recipe));
  testing::TowerRunner towers(replicate_model_fn(model_fn_of(recipe), {.loss_reduction = recipe.across,
                                                                       .devices = testing::cpus(recipe.towers),
                                                                       .min_rows_per_tower = recipe.min_rows}));
  Batches batches(seed, recipe.dtype);
  double worst_loss = 0;
  for (int step = 0; step < steps; ++step) {
    const Batch batch = batches.next();
    const double expected = one.train(batch.features, batch.labels);
    const double actual = towers.train(batch.features, batch.labels);
    worst_loss = std::max(worst_loss, std::abs(actual - expected) / (1 + std::abs(expected)));
  }
  CHECK(worst_loss < 10 * tolerance);
  double largest = 0;
  double worst = 0;
  for (const Variable* variable : one.store().variables(VariableKind::kParameter)) {
    const at::Tensor expected = variable->value();
    largest = std::max(largest, expected.abs().max().item<double>());
    worst = std::max(worst, (towers.value(variable->name()) - expected).abs().max().item<double>());
  }
  CHECK(largest > 0.01);  // Ftrl keeps weights small
  CHECK(worst < tolerance * largest);
}

Recipe random_recipe(std::mt19937_64& random, at::ScalarType dtype) {
  const std::vector<LossReduction> reductions{LossReduction::kSum, LossReduction::kMean,
                                              LossReduction::kSumOverBatchSize, LossReduction::kSumByNonzeroWeights};
  Recipe recipe;
  recipe.terms = static_cast<unsigned>(1 + random() % kAllTerms);
  recipe.optimizer = static_cast<int>(random() % kOptimizers);
  recipe.sparse = random() % 2 == 0;
  recipe.clip = random() % 3 == 0;
  recipe.two_optimizers = !recipe.clip && random() % 4 == 0;
  recipe.within = reductions[random() % 4];
  recipe.across = reductions[random() % 2 == 0 ? 0 : 1 + random() % 3];
  recipe.towers = static_cast<int>(1 + random() % 5);
  recipe.min_rows = random() % 4 == 0 ? 3 : 1;
  recipe.dtype = dtype;
  return recipe;
}

void check_random(int recipes, uint64_t first_seed, at::ScalarType dtype, int steps, double tolerance) {
  for (int i = 0; i < recipes; ++i) {
    const uint64_t seed = first_seed + static_cast<uint64_t>(i);
    std::mt19937_64 random(seed);
    check_towers(random_recipe(random, dtype), seed, testing::repetitions(steps), tolerance);
  }
}

TEST_CASE("Towers give what one device gives, for each kind of loss", "[towers][exact][R10][R11]") {
  for (unsigned term = 1; term < kAllTerms; term *= 2) {
    for (const LossReduction across : {LossReduction::kSum, LossReduction::kMean}) {
      check_towers({.terms = term, .optimizer = static_cast<int>(term) % kOptimizers, .across = across, .towers = 3},
                   term, 60, 1e-10);
    }
  }
}

TEST_CASE("Towers give what one device gives, for each optimizer, with and without clipping",
          "[towers][exact][R11][R12]") {
  for (int optimizer = 0; optimizer < kOptimizers; ++optimizer) {
    for (const bool clip : {false, true}) {
      check_towers({.terms = kWeightedCrossEntropy | kWeightedMean | kPenalty,
                    .optimizer = optimizer,
                    .sparse = true,
                    .clip = clip,
                    .towers = 2 + optimizer % 4},
                   17, 60, 1e-10);
    }
  }
}

TEST_CASE("Towers give what one device gives, within 1e-10 after 300 steps in float64", "[towers][exact][R10][R11]") {
  check_random(7, 1000, at::kDouble, 300, 1e-10);
}

TEST_CASE("Towers give what one device gives, within 1e-10 after 300 steps of other models",
          "[towers][exact][R10][R11]") {
  check_random(7, 1007, at::kDouble, 300, 1e-10);
}

TEST_CASE("Towers give what one device gives, within 1e-5 after 100 steps in float32", "[towers][exact][R10][R11]") {
  check_random(16, 2000, at::kFloat, 100, 1e-5);
}

TEST_CASE("Towers give what one device gives, over many more models", "[.slow][towers][exact]") {
  check_random(400, 10000, at::kDouble, 300, 1e-10);
  check_random(400, 20000, at::kFloat, 100, 1e-5);
}

}  // namespace
}  // namespace belfry
