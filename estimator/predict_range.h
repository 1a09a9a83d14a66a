// Predictions, computed as they are read.
#pragma once

#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>

#include "../core/tensor_dict.h"

namespace belfry {

// An input range for one pass: for (const Predictions& row : estimator.predict(input_fn)). Owns all that it needs.
// Movable; used by one thread. What the model_fn or the input throws comes out of begin() or ++.
class PredictRange {
 public:
  class Source {
   public:
    virtual ~Source() = default;
    // The next predictions, or nothing at the end.
    virtual std::optional<Predictions> next() = 0;
  };

  class iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Predictions;
    using difference_type = std::ptrdiff_t;
    using pointer = const Predictions*;
    using reference = const Predictions&;

    const Predictions& operator*() const { return *range_->current_; }
    const Predictions* operator->() const { return &*range_->current_; }
    iterator& operator++() {
      range_->advance();
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const iterator& a, std::default_sentinel_t) { return !a.range_->current_; }

   private:
    friend class PredictRange;
    explicit iterator(PredictRange* range) : range_(range) {}
    PredictRange* range_;
  };

  explicit PredictRange(std::unique_ptr<Source> source) : source_(std::move(source)) {}

  // Computes the first predictions at the first call.
  iterator begin() {
    if (!started_) advance();
    return iterator(this);
  }
  std::default_sentinel_t end() const { return {}; }

 private:
  void advance() {
    started_ = true;
    current_ = source_->next();
  }

  std::unique_ptr<Source> source_;
  std::optional<Predictions> current_;
  bool started_ = false;
};

}  // namespace belfry
