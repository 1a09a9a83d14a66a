#include "data/internal/shuffle_node.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "core/error.h"
#include "core/hash64.h"
#include "data/dataset.h"
#include "data/internal/permutation.h"
#include "data/internal/row_source.h"

namespace belfry::data_internal {
namespace {

// Over random access: a window is a permutation of row numbers, so that a position is one number.
class RowShuffleStream : public Stream {
 public:
  RowShuffleStream(const RowSource& source, int64_t window, uint64_t seed)
      : source_(source), window_(std::max<int64_t>(1, std::min(window, source.rows()))), seed_(seed) {}

  std::optional<Batch> next() override {
    if (take(1) == 0) return std::nullopt;
    Batch element = source_.row(order_.const_data_ptr<int64_t>()[cursor_ % window_]);
    ++cursor_;
    return element;
  }

  std::optional<Batch> next_rows(int64_t count) override {
    count = take(count);
    if (count == 0) return std::nullopt;
    Batch block = source_.select(order_.narrow(0, cursor_ % window_, count));
    cursor_ += count;
    return block;
  }

  void save(PositionWriter& to) const override { to.number(cursor_); }
  void restore(PositionReader& from) override { cursor_ = from.number(source_.rows()); }

 private:
  // How many of `count` rows the window at the cursor still has, its order being there.
  int64_t take(int64_t count) {
    if (cursor_ == source_.rows()) return 0;
    const int64_t number = cursor_ / window_;
    const int64_t size = std::min(window_, source_.rows() - number * window_);
    if (number != loaded_) {
      order_ = permutation(hash64_combine(seed_, static_cast<uint64_t>(number)), number * window_, size);
      loaded_ = number;
    }
    return std::min(count, size - cursor_ % window_);
  }

  const RowSource& source_;
  int64_t window_;
  uint64_t seed_;
  int64_t cursor_ = 0;
  int64_t loaded_ = -1;
  at::Tensor order_;
};

// Over a stream: a window is read, then given out in a permuted order. A position is the input's position before the
// window, and how much of the window was given out.
class WindowShuffleStream : public Stream {
 public:
  WindowShuffleStream(std::unique_ptr<Stream> input, int64_t window, uint64_t seed)
      : input_(std::move(input)), window_(window), seed_(seed) {
    begin_window(0);
  }

  std::optional<Batch> next() override {
    if (given_ == 0) read_window();
    if (elements_.empty()) return std::nullopt;
    Batch element = std::move(elements_[static_cast<size_t>(given_)]);
    ++given_;
    if (given_ == static_cast<int64_t>(elements_.size())) begin_window(number_ + 1);
    return element;
  }

  void save(PositionWriter& to) const override {
    to.number(number_);
    to.number(given_);
    to.text(start_);
  }

  void restore(PositionReader& from) override {
    number_ = from.number();
    given_ = from.number();
    start_ = from.text();
    PositionReader input(start_, from.progress());
    input_->restore(input);
    if (given_ == 0) return;
    read_window();
    if (static_cast<int64_t>(elements_.size()) <= given_) {
      fail(ErrorKind::kFailedPrecondition, "Dataset::shuffle: the window of the position had more than ", given_,
           " elements and now has ", elements_.size(), ": the source has changed");
    }
  }

  int64_t epoch() const override { return input_->epoch(); }

 private:
  void begin_window(int64_t number) {
    elements_.clear();
    number_ = number;
    given_ = 0;
    PositionWriter start;
    input_->save(start);
    start_ = start.take();
  }

  void read_window() {
    std::vector<Batch> read;
    while (static_cast<int64_t>(read.size()) < window_) {
      std::optional<Batch> element = input_->next();
      if (!element) break;
      read.push_back(*std::move(element));
    }
    const auto size = static_cast<int64_t>(read.size());
    const at::Tensor order = permutation(hash64_combine(seed_, static_cast<uint64_t>(number_)), 0, size);
    const auto* numbers = order.const_data_ptr<int64_t>();
    for (int64_t i = 0; i < size; ++i) elements_.push_back(std::move(read[static_cast<size_t>(numbers[i])]));
  }

  std::unique_ptr<Stream> input_;
  int64_t window_;
  uint64_t seed_;
  int64_t number_ = 0;
  int64_t given_ = 0;
  std::string start_;
  std::vector<Batch> elements_;
};

class ShuffleNode : public Node {
 public:
  ShuffleNode(NodePtr input, const ShuffleOptions& options) : input_(std::move(input)), options_(options) {}

  std::string describe() const override {
    return concat(input_->describe(), ".shuffle(", options_.buffer_size, ", seed ", options_.seed,
                  options_.reshuffle_each_iteration ? "" : ", every pass alike", ")");
  }

  int64_t cardinality() const override { return input_->cardinality(); }
  bool batched() const override { return input_->batched(); }

  std::unique_ptr<Stream> open(int64_t pass) const override {
    const int64_t order = options_.reshuffle_each_iteration ? pass : 0;
    const uint64_t seed = hash64_combine(options_.seed, static_cast<uint64_t>(order));
    const int64_t window = options_.buffer_size == 0 ? std::numeric_limits<int64_t>::max() : options_.buffer_size;
    if (const RowSource* rows = as_rows(input_)) return std::make_unique<RowShuffleStream>(*rows, window, seed);
    return std::make_unique<WindowShuffleStream>(input_->open(pass), window, seed);
  }

  const NodePtr* input() const override { return &input_; }
  NodePtr over(NodePtr input) const override { return make_shuffle(std::move(input), options_); }

 private:
  NodePtr input_;
  ShuffleOptions options_;
};

}  // namespace

NodePtr make_shuffle(NodePtr input, const ShuffleOptions& options) {
  require(options.buffer_size >= 0, "Dataset::shuffle: buffer_size is ", options.buffer_size,
          "; 0 (everything) or more was wanted");
  require(options.buffer_size > 0 || input->cardinality() != kInfiniteCardinality,
          "Dataset::shuffle: buffer_size is 0 (everything), and the input has no end: give a size, or shuffle before "
          "repeat");
  return std::make_shared<ShuffleNode>(std::move(input), options);
}

}  // namespace belfry::data_internal
