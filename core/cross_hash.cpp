#include "core/cross_hash.h"

#include <ATen/ops/empty.h>
#include <c10/core/ScalarType.h>

#include <algorithm>
#include <limits>

#include "core/error.h"
#include "core/hash64.h"

namespace belfry {
namespace {

// TensorFlow's FingerprintCat64 (tensorflow/tsl/platform/fingerprint.h), a step of MurmurHash64A.
uint64_t fingerprint_cat64(uint64_t first, uint64_t second) {
  constexpr uint64_t kFactor = 0xc6a4a7935bd1e995;
  const auto mixed = [](uint64_t bits) { return bits ^ (bits >> 47); };
  const uint64_t joined = ((first ^ kFactor) ^ (mixed(second * kFactor) * kFactor)) * kFactor;
  return mixed(mixed(joined) * kFactor);
}

struct Column {
  std::vector<uint64_t> hashes;  // [rows, width]
  size_t width = 0;
};

Column to_column(const Value& value, size_t place, int64_t rows) {
  require(value.dim() == 2, "sparse_cross_hashed: column ", place, " has ", value.dim(),
          " dimensions; [rows, values] was wanted");
  require(value.rows() == rows, "sparse_cross_hashed: column ", place, " has ", value.rows(), " rows, column 0 has ",
          rows);
  Column column{.hashes = {}, .width = static_cast<size_t>(value.sizes()[1])};
  if (value.is_strings()) {
    for (const std::string& text : value.strings()) column.hashes.push_back(hash64(text));
    return column;
  }
  require(value.tensor().scalar_type() == at::kLong, "sparse_cross_hashed: column ", place, " is of ",
          c10::toString(value.tensor().scalar_type()), "; int64 or strings were wanted");
  const at::Tensor numbers = value.tensor().cpu().contiguous();
  const int64_t* data = numbers.const_data_ptr<int64_t>();
  column.hashes.assign(data, data + numbers.numel());
  return column;
}

std::vector<Column> to_columns(const std::vector<Value>& values) {
  require(!values.empty(), "sparse_cross_hashed: no columns were given");
  require(values[0].dim() > 0, "sparse_cross_hashed: column 0 has 0 dimensions; [rows, values] was wanted");
  std::vector<Column> columns;
  for (size_t i = 0; i < values.size(); ++i) columns.push_back(to_column(values[i], i, values[0].rows()));
  return columns;
}

int64_t combinations(const std::vector<Column>& columns, int64_t rows) {
  int64_t product = 1;
  int64_t total = 0;
  bool fits = true;
  for (const Column& column : columns) {
    if (column.width == 0) return 0;
    fits = fits && !__builtin_mul_overflow(product, static_cast<int64_t>(column.width), &product);
  }
  require(fits && !__builtin_mul_overflow(product, rows, &total), "sparse_cross_hashed: the combinations of ",
          columns.size(), " columns in ", rows, " rows are too many to count");
  return product;
}

}  // namespace

at::Tensor sparse_cross_hashed(const std::vector<Value>& values, int64_t num_buckets, uint64_t hash_key) {
  require(num_buckets >= 0, "sparse_cross_hashed: ", num_buckets, " buckets; 0 or more were wanted");
  const std::vector<Column> columns = to_columns(values);
  const int64_t rows = values[0].rows();
  const int64_t width = combinations(columns, rows);
  const uint64_t buckets = static_cast<uint64_t>(num_buckets > 0 ? num_buckets : std::numeric_limits<int64_t>::max());
  at::Tensor crossed = at::empty({rows, width}, at::kLong);
  int64_t* to = crossed.mutable_data_ptr<int64_t>();
  std::vector<uint64_t> partial;  // of one row: the combinations of the columns so far
  std::vector<uint64_t> longer;
  for (size_t row = 0; row < static_cast<size_t>(rows) && width > 0; ++row) {
    partial.assign(1, hash_key);
    for (const Column& column : columns) {
      longer.clear();
      for (uint64_t hash : partial) {
        for (size_t i = 0; i < column.width; ++i) {
          longer.push_back(fingerprint_cat64(hash, column.hashes[row * column.width + i]));
        }
      }
      partial.swap(longer);
    }
    to = std::transform(partial.begin(), partial.end(), to,
                        [&](uint64_t hash) { return static_cast<int64_t>(hash % buckets); });
  }
  return crossed;
}

}  // namespace belfry
