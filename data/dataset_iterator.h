// One reading of a data set, whose place can be saved and found again.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "batch.h"

namespace belfry {

namespace data_internal {
class Node;
class Stream;
}  // namespace data_internal

// Elements replayed so far, and how many there are to replay. Called before the first, then every 1024th, then at the
// end.
using ReplayProgress = std::function<void(int64_t done, int64_t total)>;

// Made by Dataset::iterate; keeps what it needs of the data set alive. Used by one thread at a time. Its destruction
// ends and joins the background threads of prefetch.
class DatasetIterator {
 public:
  explicit DatasetIterator(std::shared_ptr<const data_internal::Node> node);
  DatasetIterator(DatasetIterator&&) noexcept;
  DatasetIterator& operator=(DatasetIterator&&) noexcept;
  ~DatasetIterator();

  // The next element, or nothing at the end and ever after. Tensors may be views of the source's memory: read only.
  // What the source or a mapped function throws comes out here, unchanged; from then on every call throws it again,
  // until restore().
  std::optional<Batch> next();

  // Where the reading stands: bytes that a later iterator of an equal data set, in this process or another, can be
  // restored to, so that it goes on bit for bit as this one does. It is the position of what next() has handed out,
  // whatever a prefetch has read ahead. kFailedPrecondition after next() has thrown.
  std::string position() const;

  // Goes to a position. kDataLoss for bytes that are no position or are damaged, kInvalidArgument for a position of a
  // data set with another fingerprint; the iterator is then where it was. Sources with random access seek; a Generator
  // without restore is replayed, and so is the window of a shuffle over a stream, which `progress` is told of.
  void restore(const std::string& position, const ReplayProgress& progress = nullptr);

  // Examples handed out since the start of the data, those before a restored position included: the rows of the first
  // feature where elements are batches, else the elements.
  int64_t rows_seen() const { return rows_seen_; }
  // The pass, from 0, that was being read when the last element was handed out; counted by the last Dataset::repeat
  // of the pipeline, and 0 without one.
  int64_t epoch() const;

 private:
  std::shared_ptr<const data_internal::Node> node_;
  std::unique_ptr<data_internal::Stream> stream_;
  std::exception_ptr failure_;
  uint64_t fingerprint_ = 0;
  int64_t rows_seen_ = 0;
};

}  // namespace belfry
