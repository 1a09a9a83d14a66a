#include "data/parse_example.h"

#include <limits>
#include <memory>
#include <vector>

#include "belfry/core/example.pb.h"
#include "core/error.h"
#include "data/internal/example_column.h"

namespace belfry {
namespace {

void parse(const std::string& bytes, int64_t row, proto::Example& example) {
  constexpr size_t kLimit = std::numeric_limits<int>::max();  // protobuf's
  require(bytes.size() <= kLimit && example.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())),
          "parse_example: row ", row, ": its ", bytes.size(), " bytes are no tf.Example");
}

}  // namespace

TensorDict parse_example(const StringTensor& serialized, const FeatureSpecs& specs) {
  check(specs);
  require(serialized.dim() == 1, "parse_example: the serialized examples have ", serialized.dim(),
          " dimensions; [rows] was wanted");
  std::vector<std::unique_ptr<data_internal::ExampleColumn>> columns;
  for (const auto& [name, spec] : specs) {
    columns.push_back(data_internal::make_example_column(name, spec, serialized.numel()));
  }
  for (int64_t row = 0; row < serialized.numel(); ++row) {
    proto::Example example;
    parse(serialized[row], row, example);
    const auto& features = example.features().feature();
    for (size_t i = 0; i < specs.size(); ++i) {
      const auto found = features.find(specs[i].first);
      columns[i]->set_row(row, found == features.end() ? nullptr : &found->second);
    }
  }
  TensorDict parsed;
  for (size_t i = 0; i < specs.size(); ++i) parsed.set(specs[i].first, columns[i]->finish());
  return parsed;
}

}  // namespace belfry
