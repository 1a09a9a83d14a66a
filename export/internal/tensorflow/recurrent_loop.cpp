#include "export/internal/tensorflow/recurrent_loop.h"

#include "export/internal/tensorflow/counted_loop.h"

namespace belfry::internal {
namespace {

// The hidden states of all steps, in an array that the loop fills.
class Outputs {
 public:
  Outputs(GraphDefBuilder& out, const TfTensor& steps, c10::ScalarType dtype, int64_t size)
      : out_(out), steps_(steps), dtype_(dtype), shape_({-1, size}) {
    const TfNode array = out.node("TensorArrayV3").input(steps).type("dtype", dtype).shape("element_shape", shape_);
    handle_ = array.output(at::kFloat);
    flow_ = array.output(at::kFloat, 1);
  }

  // Makes one write wait for the other: a state of the loop.
  const TfTensor& flow() const { return flow_; }
  void enter(CountedLoop& loop) { inside_ = loop.enter_resource(handle_); }
  TfTensor write(const TfTensor& index, const TfTensor& value, const TfTensor& flow) {
    return out_.node("TensorArrayWriteV3").inputs({inside_, index, value, flow}).type("T", dtype_).output(at::kFloat);
  }
  TfTensor all(const TfTensor& last_flow) {
    const TfTensor indices =
        out_.node("Range").inputs({out_.int32(0), steps_, out_.int32(1)}).type("Tidx", at::kInt).output(at::kInt);
    return out_.node("TensorArrayGatherV3")
        .inputs({handle_, indices, last_flow})
        .type("dtype", dtype_)
        .shape("element_shape", shape_)
        .output(dtype_);
  }

 private:
  GraphDefBuilder& out_;
  const TfTensor steps_;
  const c10::ScalarType dtype_;
  const std::vector<int64_t> shape_;
  TfTensor handle_, flow_, inside_;
};

RecurrentWeights entered(CountedLoop& loop, const RecurrentWeights& outside) {
  RecurrentWeights inside{.of_state = loop.enter(outside.of_state), .axis = loop.enter(outside.axis)};
  if (!outside.bias.name.empty()) inside.bias = loop.enter(outside.bias);
  return inside;
}

TfTensor gather(GraphDefBuilder& out, const TfTensor& x, const TfTensor& index, const TfTensor& axis) {
  return out.node("GatherV2")
      .inputs({x, index, axis})
      .type("Tparams", x.dtype)
      .type("Tindices", index.dtype)
      .type("Taxis", axis.dtype)
      .output(x.dtype);
}

}  // namespace

RecurrentOutputs loop_over_steps(GraphDefBuilder& out, const RecurrentLayer& layer, int64_t size) {
  const TfTensor steps = out.cast(out.size(layer.gates, 0), at::kInt);
  const bool has_cell = !layer.first.cell.name.empty();
  const TfTensor last_step = layer.reverse ? out.binary("Sub", steps, 1) : steps;
  const TfTensor first_axis = out.int32(0);
  Outputs outputs(out, steps, layer.gates.dtype, size);
  CountedLoop loop(out, steps);
  outputs.enter(loop);
  const TfTensor gates = loop.enter(layer.gates);
  const TfTensor axis = loop.enter(first_axis);
  const TfTensor last = loop.enter(last_step);
  const RecurrentWeights weights = entered(loop, layer.weights);
  loop.add_state(outputs.flow());
  loop.add_state(layer.first.hidden);
  if (has_cell) loop.add_state(layer.first.cell);
  loop.begin();
  const TfTensor index = layer.reverse ? out.binary("Sub", last, loop.step()) : loop.step();
  const TfTensor of_input = gather(out, gates, index, axis);
  const RecurrentState before{loop.state(1), has_cell ? loop.state(2) : TfTensor()};
  const RecurrentState state = next_state(out, layer.node, weights, of_input, before);
  std::vector<TfTensor> next{outputs.write(index, state.hidden, loop.state(0)), state.hidden};
  if (has_cell) next.push_back(state.cell);
  const std::vector<TfTensor> results = loop.end(next);
  return {outputs.all(results[0]), results.back()};
}

}  // namespace belfry::internal
