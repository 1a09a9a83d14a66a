#include "export/internal/attribute_json.h"

#include <ATen/ATen.h>

#include <array>
#include <cstring>

#include "core/error.h"

namespace belfry::internal {
namespace {

struct DtypeKey {
  c10::ScalarType dtype;
  const char* key;
};

constexpr std::array<DtypeKey, 11> kDtypeKeys{{{at::kFloat, "float32"},
                                               {at::kDouble, "float64"},
                                               {at::kHalf, "float16"},
                                               {at::kBFloat16, "bfloat16"},
                                               {at::kLong, "int64"},
                                               {at::kInt, "int32"},
                                               {at::kShort, "int16"},
                                               {at::kChar, "int8"},
                                               {at::kByte, "uint8"},
                                               {at::kBool, "bool"},
                                               {kString, "string"}}};

constexpr char kDigits[] = "0123456789abcdef";

std::string to_hex(std::string_view bytes) {
  std::string hex;
  for (const char byte : bytes) {
    hex += kDigits[static_cast<unsigned char>(byte) >> 4];
    hex += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return hex;
}

int digit(char letter) {
  const char* found = letter == 0 ? nullptr : std::strchr(kDigits, letter);
  if (!found) fail(ErrorKind::kDataLoss, "'", letter, "' is no hex digit");
  return static_cast<int>(found - kDigits);
}

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(digit(hex[i]) * 16 + digit(hex[i + 1]));
  }
  return bytes;
}

Json strings_json(const StringTensor& strings) {
  Json values = Json::array();
  for (const std::string& value : strings) values.push_back(text_json(value));
  return {{"strings", std::move(values)}, {"shape", strings.sizes()}};
}

Json tensor_json(const at::Tensor& given) {
  const at::Tensor tensor = given.contiguous();
  const std::string_view bytes(static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes());
  return {{"dtype", dtype_key(tensor.scalar_type())}, {"shape", tensor.sizes().vec()}, {"bytes", to_hex(bytes)}};
}

StringTensor strings_from_json(const Json& json) {
  std::vector<std::string> values;
  for (const Json& value : json.at("strings")) values.push_back(text_from_json(value));
  return {std::move(values), json.at("shape")};
}

at::Tensor tensor_from_json(const Json& json) {
  const std::string bytes = from_hex(json.at("bytes"));
  const c10::ScalarType dtype = dtype_of(json.at("dtype"));
  if (dtype == kString) fail(ErrorKind::kDataLoss, "a tensor of numbers has the dtype string");
  const std::vector<int64_t> shape = json.at("shape");
  int64_t count = static_cast<int64_t>(bytes.size() / c10::elementSize(dtype));
  for (const int64_t size : shape) {
    if (size < 0 || (size > 0 && count % size != 0)) count = -1;
    count = size > 0 ? count / size : count;
  }
  const bool is_empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  if (is_empty ? !bytes.empty() : count != 1) {
    fail(ErrorKind::kDataLoss, "a tensor of shape ", at::IntArrayRef(shape), " has ", bytes.size(), " bytes");
  }
  const at::Tensor tensor = at::empty(shape, at::TensorOptions(dtype));
  std::memcpy(tensor.mutable_data_ptr(), bytes.data(), bytes.size());
  return tensor;
}

}  // namespace

std::string dtype_key(c10::ScalarType dtype) {
  for (const DtypeKey& known : kDtypeKeys) {
    if (known.dtype == dtype) return known.key;
  }
  fail(ErrorKind::kUnimplemented, "no description of an export holds the dtype ", dtype_text(dtype));
}

c10::ScalarType dtype_of(const std::string& key) {
  for (const DtypeKey& known : kDtypeKeys) {
    if (known.key == key) return known.dtype;
  }
  fail(ErrorKind::kDataLoss, "there is no dtype '", key, "'");
}

bool is_utf8(const std::string& text) {
  try {
    Json(text).dump();
    return true;
  } catch (const Json::type_error&) {
    return false;
  }
}

Json texts_json(const std::vector<std::string>& texts) {
  Json all = Json::array();
  for (const std::string& text : texts) all.push_back(text_json(text));
  return all;
}

Json text_json(const std::string& text) { return is_utf8(text) ? Json(text) : Json{{"hex", to_hex(text)}}; }

std::string text_from_json(const Json& json) {
  return json.is_object() ? from_hex(json.at("hex")) : json.get<std::string>();
}

Json attribute_json(const GraphAttributes::Attribute& attribute) {
  if (const auto* flag = std::get_if<bool>(&attribute)) return {{"flag", *flag}};
  if (const auto* integer = std::get_if<int64_t>(&attribute)) return {{"integer", *integer}};
  if (const auto* number = std::get_if<double>(&attribute)) return {{"number", *number}};
  if (const auto* text = std::get_if<std::string>(&attribute)) return {{"text", text_json(*text)}};
  if (const auto* integers = std::get_if<std::vector<int64_t>>(&attribute)) return {{"integers", *integers}};
  if (const auto* strings = std::get_if<StringTensor>(&attribute)) return strings_json(*strings);
  return tensor_json(std::get<at::Tensor>(attribute));
}

GraphAttributes::Attribute attribute_from_json(const Json& json) {
  if (json.contains("flag")) return json.at("flag").get<bool>();
  if (json.contains("integer")) return json.at("integer").get<int64_t>();
  if (json.contains("number")) return json.at("number").get<double>();
  if (json.contains("text")) return text_from_json(json.at("text"));
  if (json.contains("integers")) return json.at("integers").get<std::vector<int64_t>>();
  if (json.contains("strings")) return strings_from_json(json);
  return tensor_from_json(json);
}

}  // namespace belfry::internal
