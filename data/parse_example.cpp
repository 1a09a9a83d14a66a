#include "data/parse_example.h"

#include <limits>
#include <memory>
#include <unordered_map>
#include <vector>

#include "belfry/core/example.pb.h"
#include "core/error.h"
#include "data/internal/example_column.h"

namespace belfry {
namespace {

bool parse(const std::string& bytes, google::protobuf::MessageLite& message) {
  constexpr size_t kLimit = std::numeric_limits<int>::max();  // protobuf's
  return bytes.size() <= kLimit && message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

class ExampleParser {
 public:
  ExampleParser(const FeatureSpecs& specs, int64_t rows) : specs_(specs), found_(specs.size()) {
    for (const auto& [name, spec] : specs) {
      places_.emplace(name, columns_.size());
      columns_.push_back(data_internal::make_example_column(name, spec, rows));
    }
  }

  void set_row(int64_t row, const std::string& bytes) {
    require(parse(bytes, example_), "parse_example: row ", row, ": its ", bytes.size(), " bytes are no tf.Example");
    found_.assign(specs_.size(), false);
    // From the last to the first, since the last of a name counts.
    const auto& entries = example_.features().entry();
    for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
      const auto place = places_.find(entry->name());
      if (place != places_.end() && !found_[place->second]) set_feature(row, place->second, entry->feature());
    }
    for (size_t i = 0; i < found_.size(); ++i) {
      if (!found_[i]) columns_[i]->set_missing(row);
    }
  }

  TensorDict finish() {
    TensorDict parsed;
    for (size_t i = 0; i < specs_.size(); ++i) parsed.set(specs_[i].first, columns_[i]->finish());
    return parsed;
  }

 private:
  void set_feature(int64_t row, size_t place, const std::string& bytes) {
    require(parse(bytes, feature_), "parse_example: row ", row, ", feature '", specs_[place].first, "': its ",
            bytes.size(), " bytes are no list of values");
    if (feature_.kind_case() == proto::Feature::KIND_NOT_SET) return;
    columns_[place]->set_row(row, feature_);
    found_[place] = true;
  }

  const FeatureSpecs& specs_;
  std::vector<std::unique_ptr<data_internal::ExampleColumn>> columns_;
  std::unordered_map<std::string, size_t> places_;
  // Of the row at hand; kept for their memory.
  proto::PartialExample example_;
  proto::Feature feature_;
  std::vector<bool> found_;
};

}  // namespace

TensorDict parse_example(const StringTensor& serialized, const FeatureSpecs& specs) {
  check(specs);
  require(serialized.dim() == 1, "parse_example: the serialized examples have ", serialized.dim(),
          " dimensions; [rows] was wanted");
  ExampleParser parser(specs, serialized.numel());
  for (int64_t row = 0; row < serialized.numel(); ++row) parser.set_row(row, serialized[row]);
  return parser.finish();
}

}  // namespace belfry
