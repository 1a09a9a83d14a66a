#include "towers/internal/split_batch.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "core/error.h"

namespace belfry::internal {
namespace {

// By its own name or that of a dict that it is nested in.
bool is_shared(const std::string& name, const std::vector<std::string>& shared) {
  return std::any_of(shared.begin(), shared.end(), [&](const std::string& listed) {
    return name == listed || (name.starts_with(listed) && name[listed.size()] == '/' && !listed.empty());
  });
}

// A name that nothing has is a slip of the pen. Batches without labels lack those that are shared.
void check_shared(const Features& features, const Labels& labels, const std::vector<std::string>& shared) {
  if (labels.empty()) return;
  for (const std::string& listed : shared) {
    const auto is_it = [&](const TensorDict::Entry& entry) { return is_shared(entry.first, {listed}); };
    if (std::any_of(features.begin(), features.end(), is_it) || std::any_of(labels.begin(), labels.end(), is_it))
      continue;
    std::string names;
    for (const TensorDict* dict : {&features, &labels}) {
      for (const std::string& name : dict->names()) names += concat(names.empty() ? "'" : ", '", name, "'");
    }
    fail(ErrorKind::kInvalidArgument, "replicate_model_fn: shared_entries has '", listed,
         "', and the batch has no such entry; it has ", names);
  }
}

std::string described(const char* dict, const std::string& name) {
  return name.empty() ? dict : concat(dict, " '", name, "'");
}

// Rows of the batch, on which all entries that are not shared have to agree.
class RowCheck {
 public:
  void add(const char* dict, const TensorDict& entries, const std::vector<std::string>& shared) {
    for (const auto& [name, value] : entries) {
      if (is_shared(name, shared)) continue;
      require(value.dim() > 0, "replicate_model_fn: ", described(dict, name),
              " is a scalar and cannot be split; put it ", "among shared_entries to give it to every tower");
      if (first_.empty()) {
        first_ = described(dict, name);
        rows_ = value.rows();
      }
      require(value.rows() == rows_, "replicate_model_fn: ", first_, " has ", rows_, " rows and ",
              described(dict, name), " has ", value.rows());
    }
  }

  int64_t rows() const {
    require(!first_.empty(), "replicate_model_fn: there is no feature or label to split");
    return rows_;
  }

 private:
  std::string first_;
  int64_t rows_ = 0;
};

Value slice(const Value& value, int64_t start, int64_t rows) {
  if (value.is_strings() || !value.tensor().is_sparse()) return value.narrow(start, rows);
  const at::Tensor& sparse = value.tensor();
  return at::narrow_copy(sparse, 0, start, rows);
}

TensorDict slice(const TensorDict& dict, int64_t start, int64_t rows, const std::vector<std::string>& shared) {
  TensorDict part;
  for (const auto& [name, value] : dict) part.set(name, is_shared(name, shared) ? value : slice(value, start, rows));
  return part;
}

}  // namespace

std::vector<TowerBatch> split_batch(const Features& features, const Labels& labels, const SplitOptions& options) {
  check_shared(features, labels, options.shared_entries);
  RowCheck check;
  check.add("feature", features, options.shared_entries);
  check.add("label", labels, options.shared_entries);
  const int64_t rows = check.rows();
  require(!options.must_divide || rows % options.towers == 0, "replicate_model_fn: the batch size ", rows,
          " is not divisible by the number of devices, which is ", options.towers);
  const int64_t most = options.must_divide ? rows : rows / std::max<int64_t>(1, options.min_rows_per_tower);
  const int64_t towers = std::clamp<int64_t>(most, 1, options.towers);
  std::vector<TowerBatch> batches;
  int64_t start = 0;
  for (int64_t i = 0; i < towers; ++i) {
    const int64_t count = rows / towers + (i < rows % towers ? 1 : 0);
    batches.push_back({slice(features, start, count, options.shared_entries),
                       slice(labels, start, count, options.shared_entries), count});
    start += count;
  }
  return batches;
}

std::optional<int64_t> split_rows(const Features& features, const Labels& labels,
                                  const std::vector<std::string>& shared_entries) {
  for (const TensorDict* dict : {&labels, &features}) {
    for (const auto& [name, value] : *dict) {
      if (value.dim() > 0 && !is_shared(name, shared_entries)) return value.rows();
    }
  }
  return std::nullopt;
}

}  // namespace belfry::internal
