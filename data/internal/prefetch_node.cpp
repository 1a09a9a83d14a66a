#include "data/internal/prefetch_node.h"

#include <exception>
#include <thread>

#include "core/error.h"
#include "data/internal/bounded_queue.h"

namespace belfry::data_internal {
namespace {

// What the input gave, and where it then stood.
struct Ahead {
  std::optional<Batch> element;
  std::string position;
  int64_t epoch = 0;
  std::exception_ptr failure;
};

Ahead read_one(Stream& input) {
  Ahead ahead;
  try {
    ahead.element = input.next();
    PositionWriter position;
    input.save(position);
    ahead.position = position.take();
    ahead.epoch = input.epoch();
  } catch (...) {
    ahead.failure = std::current_exception();
  }
  return ahead;
}

// The input belongs to the caller's thread until the first next(), then to the background thread, which stops after the
// end, a failure, or the queue's close.
class PrefetchStream : public Stream {
 public:
  PrefetchStream(std::unique_ptr<Stream> input, int64_t buffer)
      : input_(std::move(input)), queue_(static_cast<size_t>(buffer)) {}

  ~PrefetchStream() override {
    queue_.close();
    if (thread_.joinable()) thread_.join();
  }

  std::optional<Batch> next() override {
    if (failure_) std::rethrow_exception(failure_);
    if (ended_) return std::nullopt;
    if (!thread_.joinable()) thread_ = std::thread([this] { read_ahead(); });
    Ahead ahead = queue_.pop();
    failure_ = ahead.failure;
    if (failure_) std::rethrow_exception(failure_);
    position_ = std::move(ahead.position);
    epoch_ = ahead.epoch;
    ended_ = !ahead.element;
    return std::move(ahead.element);
  }

  void save(PositionWriter& to) const override {
    to.number(ended_);
    if (thread_.joinable()) return to.text(position_);
    PositionWriter position;
    input_->save(position);
    to.text(position.take());
  }

  void restore(PositionReader& from) override {
    ended_ = from.flag();
    PositionReader input(from.text(), from.progress());
    input_->restore(input);
    epoch_ = input_->epoch();
  }

  int64_t epoch() const override { return epoch_; }

 private:
  void read_ahead() {
    bool more = true;
    while (more) {
      Ahead ahead = read_one(*input_);
      more = ahead.element.has_value();
      more = queue_.push(std::move(ahead)) && more;
    }
  }

  std::unique_ptr<Stream> input_;
  BoundedQueue<Ahead> queue_;
  std::string position_;  // of what was consumed
  int64_t epoch_ = 0;
  bool ended_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

class PrefetchNode : public Node {
 public:
  PrefetchNode(NodePtr input, int64_t buffer) : input_(std::move(input)), buffer_(buffer) {}

  // Without the size, which changes no element: a position stays good when it does.
  std::string describe() const override { return input_->describe() + ".prefetch"; }
  int64_t cardinality() const override { return input_->cardinality(); }
  bool batched() const override { return input_->batched(); }
  std::unique_ptr<Stream> open(int64_t pass) const override {
    return std::make_unique<PrefetchStream>(input_->open(pass), buffer_);
  }

  const NodePtr* input() const override { return &input_; }
  NodePtr over(NodePtr input) const override { return make_prefetch(std::move(input), buffer_); }

 private:
  NodePtr input_;
  int64_t buffer_;
};

}  // namespace

NodePtr make_prefetch(NodePtr input, int64_t buffer) {
  require(buffer > 0, "Dataset::prefetch: the buffer is ", buffer, "; at least 1 was wanted");
  return std::make_shared<PrefetchNode>(std::move(input), buffer);
}

}  // namespace belfry::data_internal
