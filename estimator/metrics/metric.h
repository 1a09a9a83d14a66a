// What evaluation measures: a state that merges over batches and towers, and the value that is read from it.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

namespace belfry {

// How the states of one kind of metric are merged and read. Subclass it for a metric of your own; the largest value
// that was seen, over all batches and all towers:
//
//   struct Largest : MetricFunction {
//     std::string name() const override { return "largest"; }
//     States merge(const States& a, const States& b) const override { return {at::maximum(a[0], b[0])}; }
//     at::Tensor result(const States& states) const override { return states[0]; }
//   };
//   Metric largest(const at::Tensor& values) { return {std::make_shared<Largest>(), {values.detach().max()}}; }
//
// Objects do not change; threads share them. merge() must not depend on the order or the grouping of the batches.
class MetricFunction {
 public:
  using States = std::vector<at::Tensor>;

  virtual ~MetricFunction() = default;
  // Names the kind and every setting of it: metrics of different names, or of different classes, do not merge.
  virtual std::string name() const = 0;
  // States of the union of the two sets of rows. The default is the sum, state by state; kInvalidArgument, with the
  // name and both shapes, where shapes differ. Must not write into `a` or `b`, which are on the same device.
  virtual States merge(const States& a, const States& b) const;
  // The value that the states stand for, a scalar unless the metric says otherwise.
  virtual at::Tensor result(const States& states) const = 0;
};

// A metric of one batch, or of all batches that were merged into it. A value: copies are cheap and independent. One
// thread changes an object at a time. Nothing here is differentiated, and states never hold a graph.
class Metric {
 public:
  using States = MetricFunction::States;

  Metric(std::shared_ptr<const MetricFunction> function, States states);
  // A plain value of any shape, held in float64. Merging averages it, weighted by the rows of the batches. Exact for
  // means over rows only: prefer the functions of metrics::, whose states merge exactly.
  Metric(const at::Tensor& value);  // NOLINT(google-explicit-constructor)

  std::string name() const { return function_->name(); }
  bool is_plain() const;
  // The rows that a plain value was taken from; 1 when never called. The framework calls it, before any merge. Other
  // metrics carry their own weights, and nothing happens. kInvalidArgument for a negative number.
  void set_rows(double rows);

  // Takes in the rows of `other`, whose states may be on another device. kInvalidArgument, with both names, when the
  // kinds differ; then nothing has changed.
  void merge(const Metric& other);

  // The value over all rows so far, on the device of the states.
  at::Tensor result() const;
  // The same as a number; waits for the device. kInvalidArgument, with the shape, when it has several elements.
  double value() const;
  const States& states() const { return states_; }

 private:
  std::shared_ptr<const MetricFunction> function_;
  States states_;
};

}  // namespace belfry
