#include "export/internal/free_sizes.h"

#include <algorithm>

#include "core/error.h"

namespace belfry::internal {
namespace {

constexpr int64_t kFewRows = 3;
constexpr int64_t kMoreRows = 5;
constexpr int64_t kReplayedRows[] = {1, 2, 7, 11};

bool has_free_length(const TensorSpec& spec) { return std::count(spec.shape.begin(), spec.shape.end(), kFreeSize) > 1; }

}  // namespace

std::string to_string(const FreeSizes& sizes) {
  return sizes.length > 0 ? concat(sizes.rows, " rows of length ", sizes.length) : concat(sizes.rows, " rows");
}

std::optional<LengthRange> length_range(const ServingInputReceiver& receiver) {
  std::optional<LengthRange> range;
  for (const ServingInput& input : receiver.inputs()) {
    if (!has_free_length(input.spec)) continue;
    const LengthRange own{input.spec.min_length, input.spec.max_length};
    range = range ? LengthRange{std::max(range->least, own.least), std::min(range->most, own.most)} : own;
  }
  if (range) {
    require(range->least < range->most, "serving inputs: the free sizes of all inputs are one length, and their ",
            "min_length and max_length leave none to try between ", range->least, " and ", range->most);
  }
  return range;
}

std::vector<int64_t> with_sizes(const std::vector<int64_t>& shape, const FreeSizes& sizes) {
  std::vector<int64_t> whole = shape;
  whole.at(0) = sizes.rows;
  for (int64_t& size : whole) size = size == kFreeSize ? sizes.length : size;
  return whole;
}

std::vector<FreeSizes> sizes_to_trace(const ServingInputReceiver& receiver) {
  const auto range = length_range(receiver);
  if (!range) return {{kFewRows}, {kMoreRows}};
  return {{kFewRows, range->least}, {kMoreRows, range->least}, {kFewRows, range->most}, {kMoreRows, range->most}};
}

std::vector<FreeSizes> sizes_to_replay(const ServingInputReceiver& receiver) {
  const auto range = length_range(receiver);
  std::vector<FreeSizes> all;
  for (const int64_t rows : kReplayedRows) {
    FreeSizes sizes{rows};
    if (range) {  // through the range, not at its ends alone
      const int64_t step = static_cast<int64_t>(all.size()) + 1;
      sizes.length = range->least + (range->most - range->least) * step / 4;
    }
    all.push_back(sizes);
  }
  return all;
}

}  // namespace belfry::internal
