#include "data/internal/example_column.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <type_traits>

#include "belfry/core/example.pb.h"
#include "core/error.h"

namespace belfry::data_internal {
namespace {

const char* kind_text(proto::Feature::KindCase kind) {
  switch (kind) {
    case proto::Feature::kFloatList:
      return "float32 numbers";
    case proto::Feature::kInt64List:
      return "int64 numbers";
    case proto::Feature::kBytesList:
      return "strings";
    default:
      return "nothing";
  }
}

template <class T>
constexpr proto::Feature::KindCase kKind = std::is_same_v<T, float>     ? proto::Feature::kFloatList
                                           : std::is_same_v<T, int64_t> ? proto::Feature::kInt64List
                                                                        : proto::Feature::kBytesList;

template <class T>
const auto& values_of(const proto::Feature& feature) {
  if constexpr (std::is_same_v<T, float>) {
    return feature.float_list().value();
  } else if constexpr (std::is_same_v<T, int64_t>) {
    return feature.int64_list().value();
  } else {
    return feature.bytes_list().value();
  }
}

template <class T>
std::vector<T> values_of(const Value& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    return value.strings().to_vector();
  } else {
    const at::Tensor numbers = value.tensor().cpu().contiguous();
    const T* data = numbers.const_data_ptr<T>();
    return {data, data + numbers.numel()};
  }
}

// A row of a feature, whatever its kind.
struct RowSpec {
  std::vector<int64_t> shape;
  int64_t count;  // product of `shape`
  bool variable;  // fewer or more values are no error
};

// The values of all rows: a tensor or a vector of strings, filled through a pointer.
template <class T>
class Storage {
 public:
  explicit Storage(int64_t count) : tensor_(at::empty({count}, c10::CppTypeToScalarType<T>::value)) {}
  T* data() { return tensor_.template mutable_data_ptr<T>(); }
  Value finish(std::vector<int64_t> sizes) { return tensor_.view(sizes); }

 private:
  at::Tensor tensor_;
};

template <>
class Storage<std::string> {
 public:
  explicit Storage(int64_t count) : strings_(static_cast<size_t>(count)) {}
  std::string* data() { return strings_.data(); }
  Value finish(std::vector<int64_t> sizes) { return StringTensor(std::move(strings_), std::move(sizes)); }

 private:
  std::vector<std::string> strings_;
};

template <class T>
class ColumnOf : public ExampleColumn {
 public:
  // `missing` is what a row without the feature gets, `count` values, or none where that is an error. Of a variable
  // row, each value that lacks is that of its place.
  ColumnOf(std::string name, RowSpec spec, std::vector<T> missing, int64_t rows, int64_t total)
      : name_(std::move(name)), spec_(std::move(spec)), missing_(std::move(missing)), rows_(rows), storage_(total) {}

  void set_row(int64_t row, const proto::Feature* feature) override {
    T* to = storage_.data() + row * spec_.count;
    if (!feature || feature->kind_case() == proto::Feature::KIND_NOT_SET) {
      require(!missing_.empty(), "parse_example: row ", row, ", feature '", name_, "': is required but not there");
      std::copy(missing_.begin(), missing_.end(), to);
      return;
    }
    require(feature->kind_case() == kKind<T>, "parse_example: row ", row, ", feature '", name_, "': holds ",
            kind_text(feature->kind_case()), "; ", kind_text(kKind<T>), " were wanted");
    const auto& values = values_of<T>(*feature);
    require(spec_.variable || values.size() == spec_.count, "parse_example: row ", row, ", feature '", name_, "': has ",
            values.size(), " values; ", spec_.count, " were wanted");
    const int64_t given = std::min<int64_t>(values.size(), spec_.count);
    std::copy_n(values.begin(), given, to);
    if (given < spec_.count) std::copy(missing_.begin() + given, missing_.end(), to + given);
  }

  Value finish() override {
    std::vector<int64_t> sizes = spec_.shape;
    sizes.insert(sizes.begin(), rows_);
    return storage_.finish(std::move(sizes));
  }

 private:
  std::string name_;
  RowSpec spec_;
  std::vector<T> missing_;
  int64_t rows_;
  Storage<T> storage_;
};

template <class T>
std::vector<T> missing_of(const FixedLenFeature& spec, int64_t) {
  return spec.default_value ? values_of<T>(*spec.default_value) : std::vector<T>();
}

template <class T>
std::vector<T> missing_of(const VarLenFeature& spec, int64_t count) {
  return std::vector<T>(static_cast<size_t>(count), spec.padding ? values_of<T>(*spec.padding)[0] : T());
}

RowSpec row_spec(const FixedLenFeature& spec) {
  RowSpec row{.shape = spec.shape, .count = 1, .variable = false};
  for (int64_t size : spec.shape) row.count *= size;
  return row;
}

RowSpec row_spec(const VarLenFeature& spec) { return {.shape = {spec.length}, .count = spec.length, .variable = true}; }

template <class T, class Spec>
std::unique_ptr<ExampleColumn> make(const std::string& name, const Spec& spec, int64_t rows) {
  RowSpec row = row_spec(spec);
  int64_t total = 0;
  int64_t bytes = 0;
  require(!__builtin_mul_overflow(rows, row.count, &total) &&
              !__builtin_mul_overflow(total, static_cast<int64_t>(sizeof(T)), &bytes),
          "parse_example: feature '", name, "': ", rows, " rows of ", row.count, " values are too many");
  std::vector<T> missing = missing_of<T>(spec, row.count);
  return std::make_unique<ColumnOf<T>>(name, std::move(row), std::move(missing), rows, total);
}

}  // namespace

std::unique_ptr<ExampleColumn> make_example_column(const std::string& name, const FeatureSpec& spec, int64_t rows) {
  return std::visit(
      [&](const auto& feature) {
        if (feature.dtype == at::kFloat) return make<float>(name, feature, rows);
        if (feature.dtype == at::kLong) return make<int64_t>(name, feature, rows);
        return make<std::string>(name, feature, rows);
      },
      spec);
}

}  // namespace belfry::data_internal
