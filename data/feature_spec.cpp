#include "data/feature_spec.h"

#include <set>
#include <string_view>

#include "core/error.h"

namespace belfry {
namespace {

const char* type_text(c10::ScalarType dtype) { return dtype == kString ? "strings" : c10::toString(dtype); }

c10::ScalarType dtype_of(const Value& value) { return value.is_strings() ? kString : value.tensor().scalar_type(); }

int64_t count_of(const std::vector<int64_t>& sizes, const std::string& place) {
  int64_t count = 1;
  for (int64_t size : sizes) {
    require(size >= 1, place, "a size of ", size, "; at least 1 was wanted");
    require(!__builtin_mul_overflow(count, size, &count), place, "the shape has more values than can be counted");
  }
  return count;
}

void check_dtype(c10::ScalarType dtype, const std::string& place) {
  require(dtype == at::kFloat || dtype == at::kLong || dtype == kString, place, "the dtype ", type_text(dtype),
          "; an example has float32, int64 or strings (kString)");
}

void check_value(const std::optional<Value>& value, const char* name, c10::ScalarType dtype, int64_t count,
                 const std::string& place) {
  if (!value) return;
  require(value->is_strings() || value->tensor().defined(), place, "the ", name, " is an undefined tensor");
  require(dtype_of(*value) == dtype, place, "the ", name, " is of ", type_text(dtype_of(*value)), "; ",
          type_text(dtype), " was wanted");
  const int64_t values = value->is_strings() ? value->strings().numel() : value->tensor().numel();
  require(values == count, place, "the ", name, " has ", values, " values; ", count, " were wanted");
}

void check(const FixedLenFeature& spec, const std::string& place) {
  check_dtype(spec.dtype, place);
  check_value(spec.default_value, "default value", spec.dtype, count_of(spec.shape, place), place);
}

void check(const VarLenFeature& spec, const std::string& place) {
  check_dtype(spec.dtype, place);
  require(spec.length >= 1, place, "the length ", spec.length, "; at least 1 was wanted");
  check_value(spec.padding, "padding", spec.dtype, 1, place);
}

}  // namespace

void check(const FeatureSpecs& specs) {
  require(!specs.empty(), "feature specs: there are none");
  std::set<std::string_view> names;
  for (const auto& [name, spec] : specs) {
    require(names.insert(name).second, "feature specs: '", name, "' comes twice");
    std::visit([&, place = "feature spec '" + name + "': "](const auto& feature) { check(feature, place); }, spec);
  }
}

}  // namespace belfry
