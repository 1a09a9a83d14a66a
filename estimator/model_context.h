// What a model_fn is given beside data and mode.
#pragma once

#include <any>
#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeindex>
#include <typeinfo>
#include <utility>
#include <vector>

#include "../distribute/replica_set.h"
#include "../distribute/step_context.h"
#include "mode_keys.h"
#include "run_config.h"
#include "summaries/summary.h"

namespace belfry {

namespace internal {

// The module class behind a holder (Net made by TORCH_MODULE) or a shared_ptr<NetImpl>.
template <class Handle>
using ModuleOf = std::remove_cvref_t<decltype(*std::declval<Handle&>().operator->())>;

template <class Handle>
std::shared_ptr<ModuleOf<Handle>> pointer_of(const Handle& handle) {
  if constexpr (requires { handle.ptr(); }) {
    return handle.ptr();
  } else {
    return handle;
  }
}

// A module holder, of which it cannot be asked whether it is called without arguments: where its forward() wants some,
// the question does not compile.
template <class T>
inline constexpr bool kIsHolder = requires {
  typename T::ContainedType;
};

template <class T>
inline constexpr bool kIsState = std::is_convertible_v<T, at::Tensor> || requires(T& t) {
  t->parameters();
}
|| requires(T& t) { t.parameters(); };

}  // namespace internal

// One call of a model_fn, on one tower. Adds to StepContext what models are made of. Used by the thread that runs the
// call, and only while it runs.
class ModelContext : public StepContext {
 public:
  ModelContext(ReplicaSet& replicas, int tower, ModeKeys mode, const RunConfig& config, Options options);
  ~ModelContext() override;

  ModeKeys mode() const { return mode_; }
  const RunConfig& config() const { return config_; }
  // Whether this call is traced for an export, which is always a model of one tower on the CPU.
  bool exporting() const { return exporting_; }
  void set_exporting() { exporting_ = true; }

  // The module of that name, which `make` makes at the first call on this tower and which lasts. `make` returns a
  // module holder (Net(64, 10)) or a shared_ptr of a module; so does this. Parameters and buffers become variables
  // below `name`; train or eval mode is set from mode(). See Replica::module for what is an error.
  template <class Make>
  requires(!internal::kIsHolder<std::remove_cvref_t<Make>>) && std::invocable<Make&>
  auto module(const std::string& name, Make&& make) -> std::invoke_result_t<Make&> {
    using Handle = std::invoke_result_t<Make&>;
    using Impl = internal::ModuleOf<Handle>;
    const auto erased = [&make]() -> std::shared_ptr<torch::nn::Module> { return internal::pointer_of(make()); };
    return Handle(std::static_pointer_cast<Impl>(replica().module(name, typeid(Impl), erased, training())));
  }

  // The same for cheap arguments: ctx.module<Net>("net", 64, 10), with a holder or an Impl type. Arguments may not be
  // modules or tensors, which would be state outside the store, and need ==. kInvalidArgument when they change.
  template <class M, class... Args>
  requires(!(sizeof...(Args) == 1 && (std::invocable<Args&> && ...))) auto module(const std::string& name,
                                                                                  Args... args) {
    static_assert(!(internal::kIsState<Args> || ...),
                  "modules and tensors are not arguments: make them inside the module, or use module(name, factory)");
    static_assert((std::equality_comparable<Args> && ...),
                  "arguments are compared from step to step, and these have no ==: use module(name, factory)");
    check_arguments(name, std::tuple<Args...>(args...));
    if constexpr (requires { typename M::ContainedType; }) {
      return module(name, [&] { return M(args...); });
    } else {
      return module(name, [&] { return std::make_shared<M>(args...); });
    }
  }

  // A variable without a module, made by `initial` at its first use on any tower: TensorFlow's get_variable.
  at::Tensor variable(const std::string& name, const std::function<at::Tensor()>& initial, bool trainable = true);

  // Notes a scalar for TensorBoard, written when this step is one that RunConfig::save_summary_steps picks. `value` is
  // one number. With several towers the first one's counts.
  void summary(const std::string& tag, const at::Tensor& value);
  // The same for the distribution of all elements of a tensor of real numbers, and for the share of them that are zero.
  // Steps that are not picked pay for no more than the note. An element that is not finite when its histogram is
  // written is kInvalidArgument, with the tag, from the training.
  void summary_histogram(const std::string& tag, const at::Tensor& values);
  void summary_zero_fraction(const std::string& tag, const at::Tensor& values);
  const Summaries& summaries() const { return summaries_; }
  void set_summaries(Summaries summaries) { summaries_ = std::move(summaries); }

  // For wrappers of model_fns that run several towers: makes the towers' contexts, which live as long as this one.
  ReplicaSet& replicas() const { return replicas_; }
  ModelContext& make_tower(int tower, Options options);
  // Contexts whose buffers and assignments the step has to commit: the towers', or this one when there are none.
  std::vector<const StepContext*> steps() const;
  bool has_towers() const { return !towers_.empty(); }
  // The batch's rows, when the wrapper knows better than the first entry says.
  void set_rows(int64_t rows) { rows_ = rows; }
  std::optional<int64_t> rows() const { return rows_; }

 private:
  template <class Arguments>
  void check_arguments(const std::string& name, Arguments arguments) {
    check_arguments(name, std::any(arguments), [](const std::any& known, const std::any& now) {
      const auto* a = std::any_cast<Arguments>(&known);
      const auto* b = std::any_cast<Arguments>(&now);
      return a && b && *a == *b;
    });
  }
  void check_arguments(const std::string& name, std::any arguments,
                       bool (*same)(const std::any& known, const std::any& now));

  ReplicaSet& replicas_;
  ModeKeys mode_;
  const RunConfig& config_;
  bool exporting_ = false;
  Summaries summaries_;
  std::vector<std::unique_ptr<ModelContext>> towers_;
  std::optional<int64_t> rows_;
};

}  // namespace belfry
