// The sizes that a trace has to leave open: the rows of a batch and, where the inputs have one, the length of a row.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "export/serving_input_receiver.h"

namespace belfry::internal {

// Sizes of one call. Without a free length, `length` is 0 and means nothing.
struct FreeSizes {
  int64_t rows;
  int64_t length = 0;
};

// "3 rows" or "3 rows of length 7".
std::string to_string(const FreeSizes& sizes);

// The lengths that all inputs allow, where one of them has a free length.
struct LengthRange {
  int64_t least;
  int64_t most;
};
std::optional<LengthRange> length_range(const ServingInputReceiver& receiver);

// A shape of a spec with these sizes in place of -1.
std::vector<int64_t> with_sizes(const std::vector<int64_t>& shape, const FreeSizes& sizes);

// What a model is traced with: 3 and 5 rows, each with two lengths where there is one. Not one row or a length of one,
// which squeezing and broadcasting treat apart.
std::vector<FreeSizes> sizes_to_trace(const ServingInputReceiver& receiver);
// And what the trace is tried with: other rows, one of them 1, and other lengths where the range has any.
std::vector<FreeSizes> sizes_to_replay(const ServingInputReceiver& receiver);

}  // namespace belfry::internal
