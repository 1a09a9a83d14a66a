// A data set whose every element is a piece for each replica.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>

#include "../data/dataset.h"
#include "input_options.h"
#include "per_replica.h"

namespace belfry {

class Strategy;

// One reading. Used by one thread at a time, in the cross-replica context or outside; its strategy has to live as long.
class DistributedIterator {
 public:
  // Made by DistributedDataset::iterate.
  enum class Source {
    kGlobalBatches,   // every element is cut into a piece for each replica
    kReplicaBatches,  // every replica takes the next element
  };
  DistributedIterator(const Strategy& strategy, const Dataset& dataset, Source source, bool fetch_to_device);

  // The next step's pieces, or nothing at the end. What the data set throws comes out here. kInvalidArgument in a
  // replica context, for elements that are scalars ("batch" is missing), and where entries differ in their rows.
  std::optional<PerReplica<Batch>> next();

  // See DatasetIterator: a position is that of a step.
  std::string position() const { return iterator_.position(); }
  void restore(const std::string& position, const ReplayProgress& progress = nullptr) {
    iterator_.restore(position, progress);
  }

 private:
  std::optional<std::vector<Batch>> next_cut();
  std::optional<std::vector<Batch>> next_of_each();

  const Strategy& strategy_;
  DatasetIterator iterator_;
  Source source_;
  bool fetch_to_device_;
  std::optional<int64_t> even_batch_size_;  // under AutoShardPolicy::kOff, where it is known
};

// What a strategy makes of a Dataset. It can be gone through any number of times, and not be transformed further. A
// cheap value; its strategy has to live as long.
class DistributedDataset {
 public:
  DistributedDataset(const Strategy& strategy, Dataset dataset, DistributedIterator::Source source,
                     const InputOptions& options);

  DistributedIterator iterate() const;
  // What a replica's piece looks like, as far as that is sure: Dataset::element_spec with dimension 0 divided among the
  // replicas, kUnknownSize where it does not divide. Of a function's data set dimension 0 is unknown where several
  // replicas fill up a last step.
  std::optional<ElementSpec> element_spec() const;

  // for (const PerReplica<Batch>& step : distributed) …
  class InputIterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = PerReplica<Batch>;
    using difference_type = std::ptrdiff_t;
    using pointer = const value_type*;
    using reference = const value_type&;

    InputIterator() = default;
    explicit InputIterator(DistributedIterator iterator);
    reference operator*() const { return *step_; }
    pointer operator->() const { return &*step_; }
    InputIterator& operator++();
    friend bool operator==(const InputIterator& a, const InputIterator& b) {
      return a.step_.has_value() == b.step_.has_value();
    }

   private:
    std::shared_ptr<DistributedIterator> iterator_;
    std::optional<value_type> step_;
  };
  InputIterator begin() const { return InputIterator(iterate()); }
  InputIterator end() const { return {}; }

 private:
  const Strategy* strategy_;
  Dataset dataset_;
  DistributedIterator::Source source_;
  bool fetch_to_device_;
};

// The older form (tf.compat.v1): to be started by hand, and to fail rather than to end.
class InputIterator {
 public:
  explicit InputIterator(DistributedDataset dataset) : dataset_(std::move(dataset)) {}

  // Before the first get_next(), and to begin anew.
  void initialize() { iterator_ = std::make_unique<DistributedIterator>(dataset_.iterate()); }
  // kFailedPrecondition before initialize(), kOutOfRange at the end.
  PerReplica<Batch> get_next();

 private:
  DistributedDataset dataset_;
  std::unique_ptr<DistributedIterator> iterator_;
};

}  // namespace belfry
