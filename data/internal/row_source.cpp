#include "data/internal/row_source.h"

#include <algorithm>

namespace belfry::data_internal {
namespace {

class RowStream : public Stream {
 public:
  explicit RowStream(const RowSource& source) : source_(source) {}

  std::optional<Batch> next() override {
    if (cursor_ == source_.rows()) return std::nullopt;
    Batch element = source_.row(cursor_);
    ++cursor_;
    return element;
  }

  std::optional<Batch> next_rows(int64_t count) override {
    count = std::min(count, source_.rows() - cursor_);
    if (count == 0) return std::nullopt;
    Batch block = source_.range(cursor_, 1, count);
    cursor_ += count;
    return block;
  }

  void save(PositionWriter& to) const override { to.number(cursor_); }
  void restore(PositionReader& from) override { cursor_ = from.number(source_.rows()); }

 private:
  const RowSource& source_;
  int64_t cursor_ = 0;
};

}  // namespace

std::unique_ptr<Stream> RowSource::open(int64_t) const { return std::make_unique<RowStream>(*this); }

}  // namespace belfry::data_internal
