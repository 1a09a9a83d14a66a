// A loop over steps, in the nodes of a TensorFlow graph.
#pragma once

#include <string>
#include <vector>

#include "export/internal/tensorflow/graph_def_builder.h"

namespace belfry::internal {

// In TensorFlow's first form: Enter, Merge, Switch, NextIteration and Exit in a frame of their own, since a graph has
// no functions. A node of the body may read nothing but what entered: constants too.
class CountedLoop {
 public:
  // `steps` is an int32 scalar.
  CountedLoop(GraphDefBuilder& out, const TfTensor& steps);

  // A tensor from outside, as all steps read it.
  TfTensor enter(const TfTensor& outside);
  TfTensor enter_resource(const TfTensor& handle);
  // What each step hands to the next, with its value for the first. All of them come before begin().
  void add_state(const TfTensor& first);

  // The nodes that follow are the body.
  void begin();
  const TfTensor& step() const { return values_.front(); }             // 0, 1 ..., int32
  const TfTensor& state(size_t i) const { return values_.at(i + 1); }  // in the order of add_state
  std::vector<TfTensor> end(const std::vector<TfTensor>& next);        // the states behind the last step

 private:
  TfNode entering(const TfTensor& outside);

  GraphDefBuilder& out_;
  std::string frame_;  // named after the first node that enters
  TfTensor steps_;
  TfTensor one_;
  // The counter first, then the states.
  std::vector<TfNode> merges_;
  std::vector<TfTensor> merged_;
  std::vector<TfTensor> values_;
  std::vector<TfTensor> last_;
};

}  // namespace belfry::internal
