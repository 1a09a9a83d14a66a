// Whatever the pipeline, wherever it is cut: the rest is what it would have been, bit for bit.
#include <random>

#include "tests/data/support.h"

using namespace belfry;
using namespace belfry::testing;

namespace {

constexpr int64_t kMost = 60;  // elements read of a pipeline that may have no end

class RandomPipeline {
 public:
  explicit RandomPipeline(uint64_t seed) : random_(seed) {}

  int64_t below(int64_t bound) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(bound)); }

  Dataset make() {
    Dataset data = source();
    const int64_t steps = 1 + below(6);
    for (int64_t i = 0; i < steps; ++i) data = extended(data);
    return data;
  }

 private:
  Dataset source() {
    const int64_t count = below(30);
    switch (below(4)) {
      case 0:
        return Dataset::from_generator(counting(count));
      case 1:
        return Dataset::from_generator(seekable(count));
      default:
        return with_strings(count);
    }
  }

  static Dataset with_strings(int64_t count) {
    std::vector<std::string> names;
    for (int64_t i = 0; i < count; ++i) names.push_back("row " + std::to_string(i));
    const at::Tensor x = at::arange(count, at::kLong);
    return Dataset::from_tensors({{"x", x}, {"name", StringTensor(names)}}, x * 10);
  }

  Dataset shuffled(const Dataset& data) {
    const bool whole = data.cardinality() != kInfiniteCardinality && below(2) == 0;
    return data.shuffle({.buffer_size = whole ? 0 : 1 + below(7),
                         .seed = static_cast<uint64_t>(below(100)),
                         .reshuffle_each_iteration = below(4) > 0});
  }

  Dataset extended(const Dataset& data) {
    switch (below(9)) {
      case 0:
        return data.map(plus_one);
      case 1:
        return shuffled(data);
      case 2:
        return data.repeat(below(4));
      case 3:
        return data.repeat();
      case 4:
        return data.batched() ? data : data.batch(1 + below(6), {.drop_remainder = below(2) == 0});
      case 5:
        return data.take(below(25));
      case 6:
        return data.skip(below(8));
      case 7: {
        const int64_t count = 1 + below(3);
        return data.shard(count, below(count));
      }
      default:
        return data.prefetch(1 + below(4));
    }
  }

  static Batch plus_one(Batch element) {
    element.features.set("x", element.features["x"] + 1);
    return element;
  }

  std::mt19937_64 random_;
};

bool same(const TensorDict& a, const TensorDict& b) {
  if (a.names() != b.names()) return false;
  for (const auto& [name, value] : a) {
    const Value& other = b.at(name);
    if (value.is_tensor() ? !at::equal(value.tensor(), other.tensor()) : !(value.strings() == other.strings())) {
      return false;
    }
  }
  return true;
}

// Reads to the end, or kMost elements.
std::vector<Batch> read(DatasetIterator& iterator, int64_t count = kMost) {
  std::vector<Batch> elements;
  while (static_cast<int64_t>(elements.size()) < count) {
    std::optional<Batch> element = iterator.next();
    if (!element) break;
    elements.push_back(*std::move(element));
  }
  return elements;
}

void require_same_rest(const std::vector<Batch>& whole, size_t cut, const std::vector<Batch>& rest) {
  REQUIRE(rest.size() == whole.size() - cut);
  for (size_t i = 0; i < rest.size(); ++i) {
    REQUIRE(same(rest[i].features, whole[cut + i].features));
    REQUIRE(same(rest[i].labels, whole[cut + i].labels));
  }
}

}  // namespace

TEST_CASE("after a restore the rest is what it would have been", "[data]") {
  int64_t with_elements = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    RandomPipeline random(seed);
    const Dataset data = random.make();
    INFO("pipeline " << seed << ": " << data.describe());
    DatasetIterator uncut = data.iterate();
    const std::vector<Batch> whole = read(uncut);
    with_elements += whole.size() > 3;

    const auto cut = static_cast<size_t>(random.below(static_cast<int64_t>(whole.size()) + 1));
    DatasetIterator first = data.iterate();
    read(first, static_cast<int64_t>(cut));
    const std::string position = first.position();
    DatasetIterator second = data.iterate();
    read(second, random.below(3));
    second.restore(position);
    REQUIRE(second.position() == position);
    REQUIRE(second.rows_seen() == first.rows_seen());
    REQUIRE(second.epoch() == first.epoch());
    require_same_rest(whole, cut, read(second, kMost - static_cast<int64_t>(cut)));
    require_same_rest(whole, cut, read(first, kMost - static_cast<int64_t>(cut)));
    REQUIRE(second.position() == first.position());
    REQUIRE(second.rows_seen() == uncut.rows_seen());
  }
  CHECK(with_elements > 150);  // the pipelines are worth the trouble
}
