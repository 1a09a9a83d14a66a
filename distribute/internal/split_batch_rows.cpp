#include "distribute/internal/split_batch_rows.h"

#include <algorithm>

#include "core/error.h"
#include "data/batch_sizes.h"

namespace belfry::internal {
namespace {

void check_batched(const TensorDict& dict) {
  for (const auto& [name, value] : dict) {
    require(value.dim() > 0, "an element of the data set has a scalar", name.empty() ? "" : " in '", name,
            name.empty() ? "" : "'", ": it has no rows to be divided among replicas. Call batch first");
  }
}

Batch rows_from(const Batch& batch, int64_t start, int64_t length) {
  return {batch.features.narrow(start, length), batch.labels.empty() ? Labels() : batch.labels.narrow(start, length)};
}

}  // namespace

std::vector<int64_t> ceil_sizes(int64_t rows, int64_t replicas) {
  const int64_t piece = (rows + replicas - 1) / replicas;
  std::vector<int64_t> sizes;
  for (int64_t i = 0; i < replicas; ++i) sizes.push_back(std::clamp<int64_t>(rows - i * piece, 0, piece));
  return sizes;
}

std::vector<int64_t> even_sizes(int64_t global_batch_size, int64_t rows, int64_t replicas) {
  if (rows == 0) return std::vector<int64_t>(static_cast<size_t>(replicas), 0);
  std::vector<int64_t> sizes = batch_sizes_for_worker(global_batch_size, 1, replicas, 0);
  for (int64_t& size : sizes) {
    size = std::min(size, rows);
    rows -= size;
  }
  sizes.back() += rows;  // of a batch that is larger than the others
  return sizes;
}

int64_t rows_of(const Batch& batch) {
  check_batched(batch.features);
  check_batched(batch.labels);
  const int64_t rows = batch.features.rows();
  require(batch.labels.empty() || batch.labels.rows() == rows, "a batch has ", rows, " rows of features and ",
          batch.labels.empty() ? 0 : batch.labels.rows(), " of labels");
  return rows;
}

std::vector<Batch> split_rows_of(const Batch& batch, const std::vector<int64_t>& sizes) {
  std::vector<Batch> pieces;
  int64_t start = 0;
  for (const int64_t size : sizes) {
    pieces.push_back(rows_from(batch, start, size));
    start += size;
  }
  return pieces;
}

Batch without_rows(const Batch& batch) { return rows_from(batch, 0, 0); }

}  // namespace belfry::internal
