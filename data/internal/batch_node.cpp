#include "data/internal/batch_node.h"

#include <vector>

#include "core/error.h"
#include "data/internal/rows.h"

namespace belfry::data_internal {
namespace {

class BatchStream : public Stream {
 public:
  BatchStream(std::unique_ptr<Stream> input, int64_t size, bool drop_remainder)
      : input_(std::move(input)), size_(size), drop_remainder_(drop_remainder) {}

  std::optional<Batch> next() override {
    std::vector<Batch> blocks;
    int64_t rows = 0;
    while (rows < size_) {
      std::optional<Batch> block = input_->next_rows(size_ - rows);
      if (!block) break;
      rows += rows_of(*block);
      blocks.push_back(*std::move(block));
    }
    if (rows == 0 || (rows < size_ && drop_remainder_)) return std::nullopt;
    return blocks.size() == 1 ? std::move(blocks[0]) : cat(blocks);
  }

  void save(PositionWriter& to) const override { input_->save(to); }
  void restore(PositionReader& from) override { input_->restore(from); }
  int64_t epoch() const override { return input_->epoch(); }

 private:
  std::unique_ptr<Stream> input_;
  int64_t size_;
  bool drop_remainder_;
};

class BatchNode : public Node {
 public:
  BatchNode(NodePtr input, int64_t size, bool drop_remainder)
      : input_(std::move(input)), size_(size), drop_remainder_(drop_remainder) {}

  std::string describe() const override {
    return concat(input_->describe(), ".batch(", size_, drop_remainder_ ? ", drop_remainder" : "", ")");
  }

  bool batched() const override { return true; }
  std::optional<int64_t> batch_size() const override { return size_; }

  std::optional<ElementSpec> element_spec() const override {
    std::optional<ElementSpec> spec = input_->element_spec();
    if (!spec) return std::nullopt;
    for (std::vector<ElementSpec::Entry>* side : {&spec->features, &spec->labels}) {
      for (auto& [name, entry] : *side) entry.shape.insert(entry.shape.begin(), drop_remainder_ ? size_ : kUnknownSize);
    }
    return spec;
  }

  int64_t cardinality() const override {
    const int64_t total = input_->cardinality();
    if (total < 0) return total;
    return total / size_ + (total % size_ != 0 && !drop_remainder_);
  }

  std::unique_ptr<Stream> open(int64_t pass) const override {
    return std::make_unique<BatchStream>(input_->open(pass), size_, drop_remainder_);
  }

  const NodePtr* input() const override { return &input_; }
  NodePtr over(NodePtr input) const override { return make_batch(std::move(input), size_, drop_remainder_); }

 private:
  NodePtr input_;
  int64_t size_;
  bool drop_remainder_;
};

}  // namespace

NodePtr make_batch(NodePtr input, int64_t size, bool drop_remainder) {
  require(size > 0, "Dataset::batch: the size is ", size, "; at least 1 was wanted");
  return std::make_shared<BatchNode>(std::move(input), size, drop_remainder);
}

}  // namespace belfry::data_internal
