// Cuts a batch into the towers' slices.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/tensor_dict.h"
#include "estimator/internal/replicated_call.h"

namespace belfry::internal {

struct SplitOptions {
  int towers = 1;
  // kInvalidArgument, with both numbers, unless the rows divide by `towers`.
  bool must_divide = false;
  int64_t min_rows_per_tower = 1;
  std::vector<std::string> shared_entries = {};
};

// One entry for each tower that gets rows; a batch without rows goes to tower 0. kInvalidArgument when the entries of
// features and labels differ in rows (both are named with their rows), for a scalar, and for features without an entry.
std::vector<TowerBatch> split_batch(const Features& features, const Labels& labels, const SplitOptions& options);

// Rows of the first entry that is not shared, labels before features; nothing where there is none but scalars.
std::optional<int64_t> split_rows(const Features& features, const Labels& labels,
                                  const std::vector<std::string>& shared_entries);

}  // namespace belfry::internal
