#include "data/internal/repeat_node.h"

#include <limits>

#include "core/error.h"
#include "data/dataset.h"

namespace belfry::data_internal {
namespace {

class RepeatStream : public Stream {
 public:
  // Reads the input's passes from `first_pass` on.
  RepeatStream(const Node& input, int64_t count, int64_t first_pass)
      : input_(input), count_(count), first_pass_(first_pass), ended_(count == 0) {}

  std::optional<Batch> next() override {
    return pull([](Stream& pass) { return pass.next(); });
  }

  std::optional<Batch> next_rows(int64_t count) override {
    return pull([count](Stream& pass) { return pass.next_rows(count); });
  }

  void save(PositionWriter& to) const override {
    to.number(epoch_);
    to.number(ended_);
    to.number(any_);
    to.number(pass_ != nullptr);
    if (pass_) pass_->save(to);
  }

  void restore(PositionReader& from) override {
    epoch_ = from.number(count_);
    ended_ = from.flag();
    any_ = from.flag();
    if (!from.flag()) return;
    pass_ = open();
    pass_->restore(from);
  }

  int64_t epoch() const override { return epoch_; }

 private:
  std::unique_ptr<Stream> open() const { return input_.open(first_pass_ + epoch_); }

  template <class Pull>
  std::optional<Batch> pull(const Pull& from_pass) {
    while (!ended_) {
      if (!pass_) pass_ = open();
      if (std::optional<Batch> element = from_pass(*pass_)) {
        any_ = true;
        return element;
      }
      end_pass();
    }
    return std::nullopt;
  }

  void end_pass() {
    pass_.reset();
    ended_ = count_ == kForever ? !any_ : epoch_ + 1 == count_;
    if (!ended_) ++epoch_;
    any_ = false;
  }

  const Node& input_;
  int64_t count_;
  int64_t first_pass_;
  int64_t epoch_ = 0;
  bool ended_;
  bool any_ = false;  // in this pass
  std::unique_ptr<Stream> pass_;
};

class RepeatNode : public Node {
 public:
  RepeatNode(NodePtr input, int64_t count) : input_(std::move(input)), count_(count) {}

  std::string describe() const override {
    return concat(input_->describe(), ".repeat(", count_ == kForever ? "" : std::to_string(count_), ")");
  }

  bool batched() const override { return input_->batched(); }

  int64_t cardinality() const override {
    const int64_t total = input_->cardinality();
    if (count_ == 0 || total == 0) return 0;
    // An unknown total counts as some: only a generator without elements makes this wrong.
    if (total == kInfiniteCardinality || count_ == kForever) return kInfiniteCardinality;
    if (total == kUnknownCardinality) return kUnknownCardinality;
    return total > std::numeric_limits<int64_t>::max() / count_ ? kInfiniteCardinality : total * count_;
  }

  std::unique_ptr<Stream> open(int64_t pass) const override {
    return std::make_unique<RepeatStream>(*input_, count_, count_ == kForever ? pass : pass * count_);
  }

  const NodePtr* input() const override { return &input_; }
  NodePtr over(NodePtr input) const override { return make_repeat(std::move(input), count_); }

 private:
  NodePtr input_;
  int64_t count_;
};

}  // namespace

NodePtr make_repeat(NodePtr input, int64_t count) {
  require(count >= 0 || count == kForever, "Dataset::repeat: the count is ", count,
          "; 0, more, or kForever was wanted");
  return std::make_shared<RepeatNode>(std::move(input), count);
}

}  // namespace belfry::data_internal
