#include "export/serving_graph.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "core/error.h"
#include "export/internal/import/import_graph.h"

namespace belfry {
namespace {

class ServingGraphMaker {
 public:
  ServingGraphMaker(const Trace& trace, const ServingInputReceiver& receiver) : receiver_(receiver) {
    model_ = internal::import_graph(trace, graph_, features(trace));
  }

  ServingGraph make(const std::vector<TracedSignature>& signatures) {
    const std::vector<GraphOutput> inputs = request_inputs();
    std::vector<ServedSignature> served;
    for (const TracedSignature& signature : signatures) served.push_back(serve(signature, inputs));
    const size_t own = served.size();
    for (const ServingAlternative& alternative : receiver_.alternatives()) {
      for (size_t i = 0; i < own; ++i) served.push_back(alternatively(served[i], alternative, signatures[i]));
    }
    std::vector<GraphOutput> all;
    for (const ServedSignature& signature : served) {
      for (const GraphOutput& output : signature.outputs)
        all.push_back({signature.name + "/" + output.name, output.value});
    }
    return {graph_.build(std::move(all)), std::move(served)};
  }

 private:
  // What the model reads.
  std::vector<GraphValue> features(const Trace& trace) {
    if (const Graph* work = receiver_.graph()) return graph_.append(*work, &of_receiver_);
    std::vector<GraphValue> inputs;
    for (const ServingInput& input : trace.inputs) {
      inputs.push_back(graph_.input(input.name, {input.spec.dtype, input.spec.shape}));
    }
    return inputs;
  }

  std::vector<GraphOutput> request_inputs() const {
    std::vector<GraphOutput> inputs;
    for (const GraphNode& node : graph_.graph().nodes()) {
      if (node.operation == Operation::kInput) inputs.push_back({node.attributes.text("name"), node.outputs[0]});
    }
    return inputs;
  }

  // Classify and Regress of TensorFlow Serving hand over serialized examples and nothing else.
  bool takes_examples(const std::vector<GraphOutput>& inputs) const {
    if (inputs.size() != 1) return false;
    const auto parses = [&](const GraphNode& node) {
      return node.operation == Operation::kParseExample && node.inputs[0] == inputs[0].value;
    };
    const auto& nodes = graph_.graph().nodes();
    return std::any_of(nodes.begin(), nodes.end(), parses);
  }

  ServedSignature serve(const TracedSignature& signature, const std::vector<GraphOutput>& inputs) {
    ServedSignature served{signature.name, method_of(signature, inputs), inputs, {}};
    const bool wants_floats = served.method != ServingMethod::kPredict;
    if (wants_floats) served.inputs = {{"inputs", inputs[0].value}};
    for (const auto& output : signature.outputs) served.outputs.push_back({output.name, answer(output, wants_floats)});
    const bool has_classes = std::any_of(served.outputs.begin(), served.outputs.end(),
                                         [](const GraphOutput& output) { return output.name == "classes"; });
    if (!signature.class_names.empty() && !has_classes) served.outputs.push_back({"classes", all_classes(signature)});
    return served;
  }

  // Classify wants a class for each score, and Regress one number a row; Predict takes anything.
  ServingMethod method_of(const TracedSignature& signature, const std::vector<GraphOutput>& inputs) const {
    if (signature.kind == ExportKind::kPredict || !takes_examples(inputs)) return ServingMethod::kPredict;
    std::vector<int64_t> columns;
    for (const auto& output : signature.outputs) {
      const GraphType& type = graph_.type(model_.at(output.index).value);
      columns.push_back(type.rank() == 1 ? 1 : type.shape.at(1));
    }
    if (signature.kind == ExportKind::kRegression) {
      return columns.at(0) == 1 ? ServingMethod::kRegress : ServingMethod::kPredict;
    }
    return columns.front() == columns.back() ? ServingMethod::kClassify : ServingMethod::kPredict;
  }

  // The names of the columns of the scores, for each row.
  GraphValue all_classes(const TracedSignature& signature) {
    const GraphValue scores = model_.at(signature.outputs.at(0).index).value;
    const auto count = static_cast<int64_t>(signature.class_names.size());
    const GraphValue row = graph_.constant(at::arange(count, at::kLong).unsqueeze(0));
    const GraphValue ids = graph_.broadcast(row, {graph_.size(scores, 0), count});
    return graph_.gather(graph_.strings(signature.class_names), ids, 0);
  }

  // Classify and Regress know float32 and strings alone.
  GraphValue answer(const TracedSignature::Output& output, bool wants_floats) {
    const GraphValue value = model_.at(output.index).value;
    if (!output.vocabulary.empty()) return graph_.gather(graph_.strings(output.vocabulary), value, 0);
    if (!wants_floats) return value;
    return graph_.type(value).dtype == at::kLong ? graph_.as_string(value) : graph_.cast(value, at::kFloat);
  }

  ServedSignature alternatively(ServedSignature served, const ServingAlternative& alternative,
                                const TracedSignature& signature) const {
    served.name = alternative.name + ":" + signature.name;
    served.method = ServingMethod::kPredict;
    served.inputs.clear();
    for (const GraphOutput& tensor : alternative.tensors) {
      served.inputs.push_back({tensor.name, of_receiver_.at(tensor.value.id)});
    }
    return served;
  }

  const ServingInputReceiver& receiver_;
  GraphBuilder graph_;
  GraphBuilder::Appended of_receiver_;
  std::vector<GraphOutput> model_;
};

}  // namespace

ServingGraph serving_graph(const Trace& trace, const ServingInputReceiver& receiver,
                           const std::vector<TracedSignature>& signatures) {
  return ServingGraphMaker(trace, receiver).make(signatures);
}

}  // namespace belfry
