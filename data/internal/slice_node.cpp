#include "data/internal/slice_node.h"

#include <algorithm>

#include "data/dataset.h"
#include "data/internal/row_source.h"
#include "data/internal/rows.h"

namespace belfry::data_internal {
namespace {

class SlicedRows : public RowSource {
 public:
  SlicedRows(NodePtr input, const Slice& slice, std::string call)
      : input_(std::move(input)),
        all_(*as_rows(input_)),
        slice_(slice),
        rows_(count_of(all_.rows(), slice)),
        call_(std::move(call)) {}

  std::string describe() const override { return input_->describe() + "." + call_; }
  int64_t rows() const override { return rows_; }
  Batch row(int64_t i) const override { return all_.row(slice_.offset + i * slice_.stride); }

  Batch range(int64_t start, int64_t step, int64_t count) const override {
    return all_.range(slice_.offset + start * slice_.stride, step * slice_.stride, count);
  }

  Batch select(const at::Tensor& indices) const override {
    if (slice_.offset == 0 && slice_.stride == 1) return all_.select(indices);
    return all_.select(indices * slice_.stride + slice_.offset);
  }

  const NodePtr* input() const override { return &input_; }
  NodePtr over(NodePtr input) const override { return make_slice(std::move(input), slice_, call_); }

 private:
  NodePtr input_;
  const RowSource& all_;
  Slice slice_;
  int64_t rows_;
  std::string call_;
};

class SliceStream : public Stream {
 public:
  SliceStream(std::unique_ptr<Stream> input, const Slice& slice) : input_(std::move(input)), slice_(slice) {}

  std::optional<Batch> next() override {
    if (left(1) == 0 || !leave_out(given_ == 0 ? slice_.offset : slice_.stride - 1)) return std::nullopt;
    std::optional<Batch> element = input_->next();
    given_ += element.has_value();
    return element;
  }

  std::optional<Batch> next_rows(int64_t count) override {
    if (slice_.stride > 1) return Stream::next_rows(count);
    count = left(count);
    if (count == 0 || !leave_out(given_ == 0 ? slice_.offset : 0)) return std::nullopt;
    std::optional<Batch> block = input_->next_rows(count);
    if (block) given_ += rows_of(*block);
    return block;
  }

  void save(PositionWriter& to) const override {
    to.number(given_);
    input_->save(to);
  }

  void restore(PositionReader& from) override {
    given_ = from.number(slice_.limit);
    input_->restore(from);
  }

  int64_t epoch() const override { return input_->epoch(); }

 private:
  int64_t left(int64_t count) const { return slice_.limit < 0 ? count : std::min(count, slice_.limit - given_); }

  bool leave_out(int64_t count) {
    for (; count > 0; --count) {
      if (!input_->next()) return false;
    }
    return true;
  }

  std::unique_ptr<Stream> input_;
  Slice slice_;
  int64_t given_ = 0;
};

class SliceNode : public Node {
 public:
  SliceNode(NodePtr input, const Slice& slice, std::string call)
      : input_(std::move(input)), slice_(slice), call_(std::move(call)) {}

  std::string describe() const override { return input_->describe() + "." + call_; }
  bool batched() const override { return input_->batched(); }

  int64_t cardinality() const override {
    const int64_t total = input_->cardinality();
    if (total == kInfiniteCardinality && slice_.limit >= 0) return slice_.limit;
    return total < 0 ? total : count_of(total, slice_);
  }

  std::unique_ptr<Stream> open(int64_t pass) const override {
    return std::make_unique<SliceStream>(input_->open(pass), slice_);
  }

  const NodePtr* input() const override { return &input_; }
  NodePtr over(NodePtr input) const override { return make_slice(std::move(input), slice_, call_); }

 private:
  NodePtr input_;
  Slice slice_;
  std::string call_;
};

}  // namespace

int64_t count_of(int64_t total, const Slice& slice) {
  const int64_t left = std::max<int64_t>(0, total - slice.offset);
  const int64_t count = left / slice.stride + (left % slice.stride != 0);
  return slice.limit < 0 ? count : std::min(count, slice.limit);
}

NodePtr make_slice(NodePtr input, const Slice& slice, const std::string& call) {
  if (as_rows(input)) return std::make_shared<SlicedRows>(std::move(input), slice, call);
  return std::make_shared<SliceNode>(std::move(input), slice, call);
}

}  // namespace belfry::data_internal
