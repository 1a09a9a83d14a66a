#include "data/internal/shard_node.h"

#include "core/error.h"
#include "data/internal/row_source.h"

namespace belfry::data_internal {
namespace {

// Reads rounds of one element for each worker.
class FullShardStream : public Stream {
 public:
  FullShardStream(std::unique_ptr<Stream> input, int64_t count, int64_t index)
      : input_(std::move(input)), count_(count), index_(index), epoch_(input_->epoch()) {}

  std::optional<Batch> next() override {
    std::optional<Batch> own;
    int64_t read = 0;
    for (; read < count_; ++read) {
      std::optional<Batch> element = input_->next();
      if (!element) break;
      if (read == index_) {
        own = std::move(element);
        epoch_ = input_->epoch();
      }
    }
    require(started_ || read == count_, "Dataset::auto_shard: there are ", read, " elements for ", count_,
            " workers; each wants one or more. AutoShardPolicy::kOff gives all of them to every worker");
    started_ = true;
    return own;
  }

  void save(PositionWriter& to) const override {
    to.number(started_);
    to.number(epoch_);
    input_->save(to);
  }

  void restore(PositionReader& from) override {
    started_ = from.flag();
    epoch_ = from.number();
    input_->restore(from);
  }

  int64_t epoch() const override { return epoch_; }

 private:
  std::unique_ptr<Stream> input_;
  int64_t count_;
  int64_t index_;
  int64_t epoch_;
  bool started_ = false;
};

class FullShardNode : public Node {
 public:
  FullShardNode(NodePtr input, int64_t count, int64_t index) : input_(std::move(input)), count_(count), index_(index) {}

  std::string describe() const override {
    return concat(input_->describe(), ".auto_shard(", count_, ", ", index_, ")");
  }

  bool batched() const override { return input_->batched(); }

  int64_t cardinality() const override {
    const int64_t total = input_->cardinality();
    return total < 0 ? total : count_of(total, shard_slice(count_, index_));
  }

  std::unique_ptr<Stream> open(int64_t pass) const override {
    return std::make_unique<FullShardStream>(input_->open(pass), count_, index_);
  }

  const NodePtr* input() const override { return &input_; }
  NodePtr over(NodePtr input) const override { return make_full_shard(std::move(input), count_, index_); }

 private:
  NodePtr input_;
  int64_t count_;
  int64_t index_;
};

}  // namespace

Slice shard_slice(int64_t count, int64_t index) { return {.offset = index, .stride = count}; }

std::string shard_call(int64_t count, int64_t index) { return concat("shard(", count, ", ", index, ")"); }

NodePtr make_full_shard(NodePtr input, int64_t count, int64_t index) {
  const RowSource* rows = as_rows(input);
  if (rows && rows->rows() >= count) {  // then random access is worth keeping
    return make_slice(std::move(input), shard_slice(count, index), shard_call(count, index));
  }
  return std::make_shared<FullShardNode>(std::move(input), count, index);
}

}  // namespace belfry::data_internal
