#include "data/dataset.h"

#include "core/error.h"
#include "core/hash64.h"
#include "data/internal/auto_shard.h"
#include "data/internal/batch_node.h"
#include "data/internal/csv_source.h"
#include "data/internal/generator_source.h"
#include "data/internal/map_node.h"
#include "data/internal/numpy_source.h"
#include "data/internal/prefetch_node.h"
#include "data/internal/repeat_node.h"
#include "data/internal/shard_node.h"
#include "data/internal/shuffle_node.h"
#include "data/internal/slice_node.h"
#include "data/internal/tensor_source.h"
#include "data/internal/text_source.h"

namespace belfry {

using namespace data_internal;

Dataset Dataset::from_tensors(Features features, Labels labels) {
  return Dataset(std::make_shared<TensorSource>(std::move(features), std::move(labels), "tensors"));
}

Dataset Dataset::from_csv(const std::string& path, const CsvOptions& options) {
  return from_csv(std::vector<std::string>{path}, options);
}

Dataset Dataset::from_csv(std::initializer_list<std::string> paths, const CsvOptions& options) {
  return from_csv(std::vector<std::string>(paths), options);
}

Dataset Dataset::from_csv(const std::vector<std::string>& paths, const CsvOptions& options) {
  return Dataset(read_csv(paths, options));
}

Dataset Dataset::from_numpy(const std::string& path, const NumpyOptions& options) {
  return Dataset(read_numpy(path, options));
}

Dataset Dataset::from_text_lines(const std::string& path, const TextLineOptions& options) {
  return from_text_lines(std::vector<std::string>{path}, options);
}

Dataset Dataset::from_text_lines(std::initializer_list<std::string> paths, const TextLineOptions& options) {
  return from_text_lines(std::vector<std::string>(paths), options);
}

Dataset Dataset::from_text_lines(const std::vector<std::string>& paths, const TextLineOptions& options) {
  return Dataset(open_text_lines(paths, options));
}

Dataset Dataset::from_generator(std::function<Generator()> factory, const GeneratorOptions& options) {
  return Dataset(std::make_shared<GeneratorSource>(std::move(factory), options));
}

Dataset Dataset::map(MapFunction function) const { return Dataset(make_map(node_, std::move(function)), options_); }

Dataset Dataset::shuffle(const ShuffleOptions& options) const {
  return Dataset(make_shuffle(node_, options), options_);
}

Dataset Dataset::repeat(int64_t count) const { return Dataset(make_repeat(node_, count), options_); }

Dataset Dataset::batch(int64_t size, const BatchOptions& options) const {
  return Dataset(make_batch(node_, size, options.drop_remainder), options_);
}

Dataset Dataset::take(int64_t count) const {
  require(count >= 0, "Dataset::take: the count is ", count, "; 0 or more was wanted");
  return Dataset(make_slice(node_, {.limit = count}, concat("take(", count, ")")), options_);
}

Dataset Dataset::skip(int64_t count) const {
  require(count >= 0, "Dataset::skip: the count is ", count, "; 0 or more was wanted");
  return Dataset(make_slice(node_, {.offset = count}, concat("skip(", count, ")")), options_);
}

Dataset Dataset::shard(int64_t count, int64_t index) const {
  if (count == kShardHint && index == kShardHint) return Dataset(make_shard_hint(node_), options_);
  require(count > 0, "Dataset::shard: the count is ", count, "; at least 1 was wanted");
  require(index >= 0 && index < count, "Dataset::shard: the index is ", index, "; 0 to ", count - 1, " was wanted");
  return Dataset(make_slice(node_, shard_slice(count, index), shard_call(count, index)), options_);
}

Dataset Dataset::prefetch(int64_t buffer) const { return Dataset(make_prefetch(node_, buffer), options_); }

Dataset Dataset::auto_shard(int64_t workers, int64_t index) const {
  const AutoShardPolicy policy = options_.distribute.auto_shard_policy;
  return Dataset(data_internal::auto_shard(node_, policy, workers, index), options_);
}

int64_t Dataset::cardinality() const { return node_->cardinality(); }

bool Dataset::batched() const { return node_->batched(); }

std::optional<int64_t> Dataset::batch_size() const { return node_->batch_size(); }

std::optional<ElementSpec> Dataset::element_spec() const { return node_->element_spec(); }

std::string Dataset::describe() const { return node_->describe(); }

uint64_t Dataset::fingerprint() const { return hash64(describe()); }

}  // namespace belfry
