// What a Dataset is made of: a chain of nodes, and the streams that read it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "data/batch.h"
#include "data/element_spec.h"
#include "data/internal/position.h"

namespace belfry::data_internal {

// One reading of a node. Used by one thread at a time. After an exception it is only destroyed.
class Stream {
 public:
  virtual ~Stream() = default;

  // Nothing at the end, however often it is asked.
  virtual std::optional<Batch> next() = 0;
  // The next elements, at least one and at most `count`, stacked along a new dimension 0; nothing at the end.
  virtual std::optional<Batch> next_rows(int64_t count);

  // What restore needs to bring a fresh stream of the same node to this place.
  virtual void save(PositionWriter& to) const = 0;
  virtual void restore(PositionReader& from) = 0;

  // See DatasetIterator::epoch.
  virtual int64_t epoch() const { return 0; }
};

// Immutable; threads share it. A stream refers to its node, so the node has to outlive it.
class Node {
 public:
  virtual ~Node() = default;
  virtual std::string describe() const = 0;
  virtual int64_t cardinality() const = 0;
  virtual bool batched() const = 0;
  // See Dataset::batch_size.
  virtual std::optional<int64_t> batch_size() const;
  // See Dataset::element_spec.
  virtual std::optional<ElementSpec> element_spec() const;
  // `pass` counts the readings that one reading of the whole pipeline makes of this node.
  virtual std::unique_ptr<Stream> open(int64_t pass) const = 0;
  // What a transformation reads; null for a source.
  virtual const std::shared_ptr<const Node>* input() const { return nullptr; }
  // The same transformation of another input. Not for sources.
  virtual std::shared_ptr<const Node> over(std::shared_ptr<const Node> input) const;
};

using NodePtr = std::shared_ptr<const Node>;

// The pipeline with another node in each place for which `replacement` gives one, which is not looked into further.
NodePtr rebuild(const NodePtr& node, const std::function<NodePtr(const Node&)>& replacement);

}  // namespace belfry::data_internal
