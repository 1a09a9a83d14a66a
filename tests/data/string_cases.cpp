#include "tests/data/string_cases.h"

#include <ATen/ATen.h>

#include <functional>
#include <map>

#include "core/as_string.h"
#include "core/cross_hash.h"
#include "core/error.h"
#include "core/string_to_hash_bucket.h"
#include "core/vocabulary.h"
#include "data/parse_example.h"
#include "tests/support/temporary_directory.h"

namespace belfry::testing {
namespace {

using Json = nlohmann::json;

std::string from_hex(const std::string& digits) {
  std::string bytes;
  for (size_t i = 0; i < digits.size(); i += 2) bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  return bytes;
}

void flatten(const Json& json, std::vector<Json>& to) {
  if (!json.is_array()) return to.push_back(json);
  for (const Json& part : json) flatten(part, to);
}

StringTensor to_strings(const Json& json, std::vector<int64_t> sizes) {
  std::vector<Json> flat;
  flatten(json, flat);
  std::vector<std::string> strings;
  for (const Json& text : flat) strings.push_back(from_hex(text.get<std::string>()));
  return {std::move(strings), std::move(sizes)};
}

template <class T>
at::Tensor to_numbers(const Json& json, const std::vector<int64_t>& sizes) {
  std::vector<Json> flat;
  flatten(json, flat);
  std::vector<T> numbers;
  for (const Json& number : flat) numbers.push_back(number.get<T>());
  return at::tensor(numbers, at::TensorOptions(c10::CppTypeToScalarType<T>::value)).reshape(sizes);
}

c10::ScalarType to_dtype(const Json& json) {
  const std::map<std::string, c10::ScalarType> dtypes = {
      {"float32", at::kFloat}, {"int64", at::kLong}, {"string", kString}};
  return dtypes.at(json.get<std::string>());
}

Value to_value(const Json& json, c10::ScalarType dtype, const std::vector<int64_t>& sizes) {
  if (dtype == kString) return to_strings(json, sizes);
  return dtype == at::kFloat ? to_numbers<float>(json, sizes) : to_numbers<int64_t>(json, sizes);
}

std::vector<int64_t> row(const Json& json) { return {static_cast<int64_t>(json.size())}; }

std::string different(const Value& got, const Value& wanted) {
  if (got.is_strings() != wanted.is_strings()) return "another kind";
  if (got.sizes() != wanted.sizes()) return "another shape";
  if (got.is_strings()) return got.strings() == wanted.strings() ? "" : "other strings";
  if (got.tensor().scalar_type() != wanted.tensor().scalar_type()) return "another type";
  return at::equal(got.tensor(), wanted.tensor()) ? "" : concat("other numbers: ", got.tensor());
}

std::string hash_bucket(const Json& c) {
  const StringTensor strings = to_strings(c["strings"], row(c["strings"]));
  return different(string_to_hash_bucket_fast(strings, c["buckets"]), to_numbers<int64_t>(c["ids"], row(c["ids"])));
}

std::string integers_as_string(const Json& c) {
  return different(as_string(to_numbers<int64_t>(c["integers"], row(c["integers"]))),
                   to_strings(c["strings"], row(c["strings"])));
}

std::string cross(const Json& c) {
  std::vector<Value> columns;
  for (const Json& column : c["columns"]) {
    const Json& values = column.begin().value();
    const std::vector<int64_t> sizes = {row(values)[0], row(values[0])[0]};
    columns.push_back(to_value(values, column.contains("strings") ? kString : at::kLong, sizes));
  }
  const at::Tensor got = c["hash_key"].is_null() ? sparse_cross_hashed(columns, c["buckets"])
                                                 : sparse_cross_hashed(columns, c["buckets"], c["hash_key"]);
  return different(got, to_numbers<int64_t>(c["ids"], {row(c["ids"])[0], row(c["ids"][0])[0]}));
}

std::string vocabulary(const Json& c) {
  const TemporaryDirectory folder;
  const std::string path = folder.file("words.txt");
  write_file_atomically(posix_file_system(), path, from_hex(c["text"]));
  VocabularyOptions options{.num_oov_buckets = c["oov"], .default_value = c["default"]};
  if (!c["size"].is_null()) options.size = c["size"].get<int64_t>();
  const Vocabulary words = Vocabulary::from_file(path, posix_file_system(), options);
  return different(words.lookup(to_strings(c["strings"], row(c["strings"]))),
                   to_numbers<int64_t>(c["ids"], row(c["ids"])));
}

std::optional<Value> value_or_none(const Json& json, c10::ScalarType dtype, const std::vector<int64_t>& sizes) {
  return json.is_null() ? std::nullopt : std::optional(to_value(json, dtype, sizes));
}

FeatureSpec to_spec(const Json& json) {
  const c10::ScalarType dtype = to_dtype(json["dtype"]);
  if (json.contains("length")) return VarLenFeature{dtype, json["length"], value_or_none(json["padding"], dtype, {})};
  return FixedLenFeature{dtype, json["shape"], value_or_none(json["default"], dtype, json["shape"])};
}

std::string parse(const Json& c) {
  FeatureSpecs specs;
  for (const auto& [name, spec] : c["specs"].items()) specs.emplace_back(name, to_spec(spec));
  const TensorDict parsed = parse_example(to_strings(c["examples"], row(c["examples"])), specs);
  for (const auto& [name, value] : parsed) {
    std::vector<int64_t> sizes = row(c["examples"]);
    const Json& spec = c["specs"][name];
    if (spec.contains("length")) sizes.push_back(spec["length"]);
    if (spec.contains("shape")) sizes.insert(sizes.end(), spec["shape"].begin(), spec["shape"].end());
    const std::string difference = different(value, to_value(c["values"][name], to_dtype(spec["dtype"]), sizes));
    if (!difference.empty()) return name + ": " + difference;
  }
  return parsed.size() == specs.size() ? "" : "features are lacking";
}

}  // namespace

std::string string_case_difference(const Json& c) {
  const std::map<std::string, std::function<std::string(const Json&)>> answers = {{"hash_bucket", hash_bucket},
                                                                                  {"as_string", integers_as_string},
                                                                                  {"cross", cross},
                                                                                  {"vocabulary", vocabulary},
                                                                                  {"parse", parse}};
  try {
    const std::string difference = answers.at(c["op"])(c);
    return c.contains("error") ? "answered, though TensorFlow refuses" : difference;
  } catch (const Error& error) {
    return c.contains("error") ? "" : concat("refused, though TensorFlow answers: ", error.what());
  }
}

}  // namespace belfry::testing
