#include "export/internal/replay.h"

#include <ATen/ATen.h>
#include <c10/util/Exception.h>
#include <torch/csrc/jit/runtime/interpreter.h>

#include <algorithm>

#include "core/error.h"
#include "export/internal/graph_module.h"
#include "export/internal/trace_inputs.h"

namespace belfry::internal {
namespace {

namespace jit = torch::jit;

constexpr double kTolerance = 1e-5;

jit::Module module_of(const Trace& trace) {
  jit::Module module("Replay");
  for (size_t i = 0; i < trace.variables.size(); ++i) {
    add_tensor(module, concat("v", i), trace.variables[i].second.detach());
  }
  return module;
}

[[noreturn]] void refuse_run(const FreeSizes& sizes, const std::string& error) {
  fail(ErrorKind::kUnimplemented, "export: the model cannot be traced for any number of rows: what holds for 3 and 5 ",
       "rows fails with ", to_string(sizes), " (a size that is not linear in the rows?): ", error);
}

std::vector<c10::IValue> run(const jit::Code& code, const jit::Module& module, const Features& features,
                             const FreeSizes& sizes) {
  jit::Stack stack{module._ivalue()};
  for (const auto& [name, value] : features) stack.emplace_back(value.tensor().clone());
  try {
    jit::InterpreterState(code).run(stack);
  } catch (const c10::Error& error) {
    refuse_run(sizes, error.what_without_backtrace());
  } catch (const std::runtime_error& error) {  // what the interpreter makes of most errors
    refuse_run(sizes, error.what());
  }
  return stack.at(0).toTuple()->elements().vec();
}

// Largest |a - b| over the largest |b|, taken as at least one; not finite where one alone is not.
double relative_difference(const at::Tensor& a, const at::Tensor& b) {
  if (a.numel() == 0) return 0;
  const at::Tensor x = a.to(at::kDouble);
  const at::Tensor y = b.to(at::kDouble);
  const at::Tensor same = x.eq(y).logical_or(x.isnan().logical_and(y.isnan()));
  const at::Tensor difference = at::where(same, at::zeros_like(x), (x - y).abs());
  const at::Tensor finite = y.masked_select(y.isfinite());
  const double scale = finite.numel() ? finite.abs().max().item<double>() : 1;
  return difference.max().item<double>() / std::max(scale, 1.0);
}

void compare(const std::string& name, const FreeSizes& sizes, const at::Tensor& traced, const at::Tensor& wanted) {
  const auto refuse = [&](const auto&... how) {
    fail(ErrorKind::kUnimplemented, "export: the model cannot be traced for any number of rows: with ",
         to_string(sizes), " of new data output '", name, "' of the trace ", how...,
         "; the model depends on its data or on the number of rows in a way that a trace does not show");
  };
  if (traced.sizes() != wanted.sizes()) refuse("is ", traced.sizes(), " where the model's is ", wanted.sizes());
  if (traced.scalar_type() != wanted.scalar_type()) {
    refuse("is ", traced.scalar_type(), " where the model's is ", wanted.scalar_type());
  }
  const double difference = relative_difference(traced, wanted);
  if (!(difference <= kTolerance)) refuse("differs from the model's by ", difference, " of its largest value");
}

}  // namespace

void replay(const Trace& trace, const TraceRequest& request, at::Generator generator) {
  const jit::Module module = module_of(trace);
  bind(*trace.graph, module);
  const jit::Code code(trace.graph, "replay");
  for (const FreeSizes& sizes : sizes_to_replay(request.receiver)) {
    const Features features = random_features(request.receiver, sizes, generator);
    const std::vector<c10::IValue> traced = run(code, module, features, sizes);
    const TensorDict wanted = request.function(features);
    for (size_t i = 0; i < trace.outputs.size(); ++i) {
      compare(trace.outputs[i].name, sizes, traced[i].toTensor(), wanted.at(trace.outputs[i].name).tensor());
    }
  }
}

}  // namespace belfry::internal
