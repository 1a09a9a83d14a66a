// The shape of a model_fn.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include "../core/error.h"
#include "estimator_spec.h"
#include "model_context.h"

namespace belfry {

// Called for every step: builds the forward pass from what lasts (ctx.module) and says what the mode asks for.
using ModelFn = std::function<EstimatorSpec(const Features&, const Labels&, ModeKeys, ModelContext&)>;
// Wraps a model_fn into another: replicate_model_fn with its options, for example.
using ModelFnTransform = std::function<ModelFn(ModelFn)>;

namespace internal {

template <class F>
concept FullModelFn = std::is_invocable_r_v<EstimatorSpec, F&, const Features&, const Labels&, ModeKeys, ModelContext&>;
template <class F>
concept LabelFreeModelFn = std::is_invocable_r_v<EstimatorSpec, F&, const Features&, ModeKeys, ModelContext&>;
template <class F, class P>
concept ModelFnWithParams =
    std::is_invocable_r_v<EstimatorSpec, F&, const Features&, const Labels&, ModeKeys, ModelContext&, const P&>;

}  // namespace internal

// A ModelFn from a callable (features, labels, mode, ctx), or without the labels; then input that has labels is
// kInvalidArgument.
template <class F>
  requires internal::FullModelFn<F> || internal::LabelFreeModelFn<F>
ModelFn make_model_fn(F function) {
  if constexpr (internal::FullModelFn<F>) {
    return ModelFn(std::move(function));
  } else {
    return [function = std::move(function)](const Features& features, const Labels& labels, ModeKeys mode,
                                            ModelContext& ctx) mutable -> EstimatorSpec {
      require(labels.empty(), "model_fn takes no labels, but the input has some");
      return function(features, mode, ctx);
    };
  }
}

// The same for a callable with a last argument, `params`, which is held by value.
template <class F, class P>
  requires internal::ModelFnWithParams<F, P>
ModelFn make_model_fn(F function, P params) {
  return [function = std::move(function), params = std::make_shared<const P>(std::move(params))](
             const Features& features, const Labels& labels, ModeKeys mode, ModelContext& ctx) mutable -> EstimatorSpec {
    return function(features, labels, mode, ctx, *params);
  };
}

}  // namespace belfry
