#include "data/dataset_iterator.h"

#include "core/error.h"
#include "core/hash64.h"
#include "data/internal/node.h"
#include "data/internal/rows.h"

namespace belfry {
namespace {

int64_t examples(const Batch& element, bool batched) {
  if (!batched || element.features.begin()->second.dim() == 0) return 1;
  return data_internal::rows_of(element);
}

}  // namespace

DatasetIterator::DatasetIterator(std::shared_ptr<const data_internal::Node> node)
    : node_(std::move(node)), stream_(node_->open(0)), fingerprint_(hash64(node_->describe())) {}

DatasetIterator::DatasetIterator(DatasetIterator&&) noexcept = default;

DatasetIterator& DatasetIterator::operator=(DatasetIterator&& other) noexcept {
  stream_.reset();  // before the node that it refers to
  node_ = std::move(other.node_);
  stream_ = std::move(other.stream_);
  failure_ = std::move(other.failure_);
  fingerprint_ = other.fingerprint_;
  rows_seen_ = other.rows_seen_;
  return *this;
}

DatasetIterator::~DatasetIterator() = default;

std::optional<Batch> DatasetIterator::next() {
  if (failure_) std::rethrow_exception(failure_);
  try {
    std::optional<Batch> element = stream_->next();
    if (element) rows_seen_ += examples(*element, node_->batched());
    return element;
  } catch (...) {
    failure_ = std::current_exception();
    throw;
  }
}

std::string DatasetIterator::position() const {
  if (failure_) fail(ErrorKind::kFailedPrecondition, "DatasetIterator::position: reading has failed; there is none");
  data_internal::PositionWriter streams;
  stream_->save(streams);
  return data_internal::seal({fingerprint_, rows_seen_, streams.take()});
}

void DatasetIterator::restore(const std::string& position, const ReplayProgress& progress) {
  const data_internal::Position saved = data_internal::unseal(position);
  require(saved.fingerprint == fingerprint_,
          "DatasetIterator::restore: the position is of a data set with fingerprint ", saved.fingerprint,
          "; this one has ", fingerprint_, ": ", node_->describe());
  std::unique_ptr<data_internal::Stream> stream = node_->open(0);
  data_internal::PositionReader streams(saved.streams, progress);
  stream->restore(streams);
  if (!streams.at_end()) fail(ErrorKind::kDataLoss, "the data position is longer than this data set's");
  stream_ = std::move(stream);
  failure_ = nullptr;
  rows_seen_ = saved.rows_seen;
}

int64_t DatasetIterator::epoch() const { return stream_->epoch(); }

}  // namespace belfry
