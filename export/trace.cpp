#include "export/trace.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <torch/csrc/autograd/grad_mode.h>
#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/passes/remove_mutation.h>
#include <torch/csrc/jit/runtime/graph_executor.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "core/error.h"
#include "export/internal/graph_checks.h"
#include "export/internal/graph_module.h"
#include "export/internal/replay.h"
#include "export/internal/size_recovery.h"
#include "export/internal/trace_inputs.h"
#include "export/internal/value_reads.h"

namespace belfry {
namespace {

namespace jit = torch::jit;

constexpr uint64_t kSeed = 20260101;  // any: the data must differ between calls and be the same in every run

// The outputs of one traced call.
struct Call {
  internal::TracedGraph traced;
  std::vector<TracedOutput> outputs;
};

void check_variables(const NamedTensors& variables) {
  std::unordered_set<std::string> names;
  for (const auto& [name, tensor] : variables) {
    if (!names.insert(name).second) fail(ErrorKind::kAlreadyExists, "export: variable '", name, "' comes twice");
    require(tensor.defined(), "export: variable '", name, "' is an undefined tensor");
    require(tensor.device().is_cpu(), "export: variable '", name, "' is on ", tensor.device(),
            "; a model is traced on the CPU, for a trace is bound to its device");
  }
}

void check_outputs(const TensorDict& outputs) {
  require(!outputs.empty(), "export: the model has no outputs");
  for (const auto& [name, value] : outputs) {
    require(value.is_tensor() && value.tensor().defined(), "export: output '", name, "' is not a tensor of numbers");
    require(value.tensor().device().is_cpu(), "export: output '", name, "' is on ", value.tensor().device(),
            ", not the CPU");
    require(value.tensor().layout() == at::kStrided, "export: output '", name, "' is ", value.tensor().layout(),
            "; only dense tensors can be served");
  }
}

// A caller's tensors, to see whether the function writes into them.
class WriteGuard {
 public:
  explicit WriteGuard(const char* what) : what_(what) {}

  void watch(const std::string& name, const at::Tensor& tensor) {
    if (!tensor.is_inference()) watched_.push_back({name, tensor, static_cast<int64_t>(tensor._version())});
  }

  void check() const {
    for (const auto& [name, tensor, version] : watched_) {
      if (static_cast<int64_t>(tensor._version()) == version) continue;
      fail(ErrorKind::kFailedPrecondition, "export: the model writes into ", what_, " '", name, "' in PREDICT");
    }
  }

 private:
  struct Watched {
    std::string name;
    at::Tensor tensor;
    int64_t version;
  };
  const char* what_;
  std::vector<Watched> watched_;
};

// A tensor that is neither an input nor computed, such as a constant of the model, is unknown to the tracer as an
// output.
void make_known(const at::Tensor& tensor) {
  const auto state = jit::tracer::getTracingState();
  if (!state->hasValue(tensor)) state->getValue(tensor);
}

jit::Module tracing_module(const NamedTensors& variables) {
  jit::Module module("Traced");
  for (size_t i = 0; i < variables.size(); ++i) internal::add_tensor(module, concat("v", i), variables[i].second);
  return module;
}

internal::VariableNames attribute_names(const NamedTensors& variables) {
  internal::VariableNames names;
  for (size_t i = 0; i < variables.size(); ++i) names[concat("v", i)] = variables[i].first;
  return names;
}

Features features_of(const jit::Stack& stack, const ServingInputReceiver& receiver) {
  Features features;
  for (size_t i = 0; i < stack.size(); ++i) features.set(receiver.inputs()[i].feature, stack[i].toTensor());
  return features;
}

jit::Stack call_function(const jit::Stack& stack, const TraceRequest& request, std::vector<TracedOutput>& described) {
  const TensorDict outputs = request.function(features_of(stack, request.receiver));
  check_outputs(outputs);
  std::vector<c10::IValue> elements;
  for (const auto& [name, value] : outputs) {
    const at::Tensor& tensor = value.tensor();
    make_known(tensor);
    described.push_back({name, tensor.scalar_type(), tensor.sizes().vec()});
    elements.emplace_back(tensor);
  }
  return {c10::ivalue::Tuple::create(std::move(elements))};
}

void refuse_foreign_parameter(std::string_view reason) {
  require(reason.find("requires grad as a constant") == std::string::npos,
          "export: the model reads a parameter that is none of its variables; a module comes from ctx.module(), and a ",
          "variable from ctx.variable()");
}

// The tracer's own errors are told apart from the function's, which pass as they are.
std::shared_ptr<jit::Graph> run_traced(const jit::Stack& stack, const TraceRequest& request, jit::Module& module,
                                       std::vector<TracedOutput>& described) {
  bool returned = false;
  const auto no_names = [](const at::Tensor&) { return std::string(); };
  const auto run = [&](const jit::Stack& inputs) {
    jit::Stack outputs = call_function(inputs, request, described);
    returned = true;
    return outputs;
  };
  try {
    return jit::tracer::trace(stack, run, no_names, true, false, &module).first->graph;
  } catch (const Error& error) {
    refuse_foreign_parameter(error.what());
    throw;
  } catch (const c10::Error& error) {
    refuse_foreign_parameter(error.what());
    if (!returned) throw;
    fail(ErrorKind::kUnimplemented,
         "export: LibTorch's tracer cannot hold the model: ", error.what_without_backtrace());
  }
}

Call trace_once(const TraceRequest& request, jit::Module& module, const internal::FreeSizes& sizes,
                const at::Generator& generator) {
  const Features features = internal::random_features(request.receiver, sizes, generator);
  WriteGuard written_features("feature");
  WriteGuard written_variables("variable");
  jit::Stack stack;
  for (const auto& [name, value] : features) {
    written_features.watch(name, value.tensor());
    stack.emplace_back(value.tensor());
  }
  for (const auto& [name, tensor] : request.variables) written_variables.watch(name, tensor);
  Call call{{nullptr, sizes}, {}};
  call.traced.graph = run_traced(stack, request, module, call.outputs);
  jit::Inline(*call.traced.graph);
  internal::refuse_training_and_random(*call.traced.graph, attribute_names(request.variables));
  written_features.check();
  written_variables.check();
  jit::EliminateDeadCode(call.traced.graph);
  internal::refuse_unset_memory(call.traced.graph, attribute_names(request.variables));
  return call;
}

// Numbers the attributes that the graph still reads anew, and returns their variables.
NamedTensors keep_used_variables(jit::Graph& graph, const NamedTensors& all) {
  NamedTensors used;
  std::unordered_map<std::string, std::string> renamed;
  for (size_t i = 0; i < all.size(); ++i) {
    const std::string attribute = concat("v", i);
    const auto reads = [&](const jit::Node* node) {
      return node->kind() == c10::prim::GetAttr && node->s(c10::attr::name) == attribute;
    };
    if (std::none_of(graph.nodes().begin(), graph.nodes().end(), reads)) continue;
    renamed[attribute] = concat("v", used.size());
    used.push_back(all[i]);
  }
  for (jit::Node* node : graph.nodes()) {
    if (node->kind() == c10::prim::GetAttr) node->s_(c10::attr::name, renamed.at(node->s(c10::attr::name)));
  }
  return used;
}

// Adds what another call shows of the sizes that vary.
void merge_outputs(std::vector<TracedOutput>& outputs, const Call& other_call) {
  const std::vector<TracedOutput>& others = other_call.outputs;
  require(outputs.size() == others.size(), "export: the model has ", outputs.size(), " outputs in one call and ",
          others.size(), " in another");
  for (size_t i = 0; i < outputs.size(); ++i) {
    TracedOutput& output = outputs[i];
    const TracedOutput& other = others[i];
    require(output.name == other.name, "export: output ", i, " is '", output.name, "' in one call and '", other.name,
            "' in another");
    if (output.dtype != other.dtype || output.shape.size() != other.shape.size()) {
      fail(ErrorKind::kUnimplemented, "export: dtype or rank of output '", output.name,
           "' depends on the number of rows or on the data");
    }
    for (size_t d = 0; d < output.shape.size(); ++d) {
      if (output.shape[d] != other.shape[d]) output.shape[d] = kFreeSize;
    }
  }
}

std::vector<TracedOutput> merged_outputs(const std::vector<Call>& calls) {
  std::vector<TracedOutput> outputs = calls[0].outputs;
  for (size_t i = 1; i < calls.size(); ++i) merge_outputs(outputs, calls[i]);
  return outputs;
}

bool has_batch_first(const std::vector<Call>& calls, size_t output) {
  return std::all_of(calls.begin(), calls.end(), [output](const Call& call) {
    const auto& shape = call.outputs[output].shape;
    return !shape.empty() && shape[0] == call.traced.sizes.rows;
  });
}

std::vector<std::string> batch_warnings(const std::vector<TracedOutput>& outputs, const std::vector<Call>& calls) {
  std::vector<std::string> warnings;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (has_batch_first(calls, i)) continue;
    warnings.push_back(
        concat("output '", outputs[i].name, "' of shape ", at::IntArrayRef(outputs[i].shape),
               " does not have the batch as dimension 0; servers that answer row by row cannot serve it"));
  }
  return warnings;
}

std::string decision_warning(const std::set<std::string>& places) {
  return concat("the model reads values (item(), bool()) of what a request holds, at ", c10::Join("; ", places),
                ": what it decides by them is decided for good, as it was with random features");
}

}  // namespace

Trace trace(const TraceRequest& request) {
  require(static_cast<bool>(request.function), "export: there is no function to trace");
  check_variables(request.variables);
  const at::NoGradGuard no_grad;
  // The executor rewrites a script that the model calls after its first runs, and two traces would differ.
  const jit::GraphOptimizerEnabledGuard scripts_as_written(false);
  const at::Generator generator = at::detail::createCPUGenerator(kSeed);
  const internal::VariableNames names = attribute_names(request.variables);
  jit::Module module = tracing_module(request.variables);
  std::vector<Call> calls;
  std::vector<internal::TracedGraph> traces;
  internal::ValueReads value_reads(names);
  for (const internal::FreeSizes& sizes : internal::sizes_to_trace(request.receiver)) {
    calls.push_back(trace_once(request, module, sizes, generator));
    traces.push_back(calls.back().traced);
  }
  internal::recover_sizes(traces, request.receiver.inputs(), names);

  Trace result{traces[0].graph, request.receiver.inputs(), merged_outputs(calls), {}, {}, {}};
  jit::RemoveTensorMutation(result.graph);
  jit::EliminateDeadCode(result.graph);
  result.remaining_writes = internal::list_writes(*result.graph, names);
  result.variables = keep_used_variables(*result.graph, request.variables);
  result.warnings = batch_warnings(result.outputs, calls);
  if (!value_reads.places().empty()) result.warnings.push_back(decision_warning(value_reads.places()));
  internal::replay(result, request, generator);
  return result;
}

}  // namespace belfry
