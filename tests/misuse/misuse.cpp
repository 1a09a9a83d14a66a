// Each case is a mistake that a reader of the documentation could make, and that must not compile.
#include <belfry.h>
#include <torch/nn/modules/linear.h>

#include <type_traits>

namespace belfry {

struct Net : torch::nn::Module {
  explicit Net(at::Tensor initial) : weight(register_parameter("weight", initial)) {}
  explicit Net(torch::nn::Linear inner) : inner(register_module("inner", inner)) {}
  at::Tensor weight;
  torch::nn::Linear inner = nullptr;
};

struct Size {
  int64_t width;
};
struct Sized : torch::nn::Module {
  explicit Sized(Size) {}
};

inline EstimatorSpec model_fn(const Features& features, const Labels& labels, ModeKeys, ModelContext& ctx) {
#ifdef MISUSE_tensor_as_module_argument
  ctx.module<Net>("net", at::Tensor());
#endif
#ifdef MISUSE_module_as_module_argument
  ctx.module<Net>("net", torch::nn::Linear(2, 2));
#endif
#ifdef MISUSE_module_argument_without_equality
  ctx.module<Sized>("net", Size{3});
#endif
  const at::Tensor loss = losses::mean_squared_error(labels.tensor(), features["x"], ctx);
#ifdef MISUSE_tower_optimizer_of_a_rate
  return EstimatorSpec::train(loss, TowerOptimizer(0.1).minimize(loss, ctx));
#else
  return EstimatorSpec::train(loss, TowerOptimizer(Adam()).minimize(loss, ctx));
#endif
}

inline void use() {
#ifdef MISUSE_model_fn_without_mode
  Estimator estimator([](const Features& features, ModelContext&) { return EstimatorSpec::predict(features); });
#else
  Estimator estimator(model_fn, RunConfig{.model_dir = "run"});
#endif
}

static_assert(!std::is_copy_constructible_v<Estimator> && std::is_nothrow_move_constructible_v<Estimator>);
static_assert(!std::is_default_constructible_v<TowerOptimizer>);

}  // namespace belfry
