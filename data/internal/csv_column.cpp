#include "data/internal/csv_column.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "data/internal/csv_number.h"

namespace belfry::data_internal {
namespace {

template <class Number>
at::Tensor to_tensor(const std::vector<Number>& values) {
  at::Tensor tensor = at::empty({static_cast<int64_t>(values.size())}, c10::CppTypeToScalarType<Number>::value);
  std::copy(values.begin(), values.end(), tensor.mutable_data_ptr<Number>());
  return tensor;
}

bool is_integer(std::string_view text) { return read_number<int64_t>(text).has_value(); }

// "nan", "-inf" and the like.
bool is_not_finite(std::string_view text) {
  if (text.find_first_of("nNiI") == std::string_view::npos) return false;
  const std::optional<double> number = read_number<double>(text);
  return number && !std::isfinite(*number);
}

std::string in_file(const CsvPlace& place) {
  return place.line > 0 ? concat(place.file, ":", place.line) : std::string(place.file);
}

}  // namespace

CsvColumn::CsvColumn(std::string name, const CsvOptions& options) : name_(std::move(name)), options_(options) {
  if (const auto found = options.defaults.find(name_); found != options.defaults.end()) default_ = found->second;
  const auto type = options.dtypes.find(name_);
  if (type == options.dtypes.end()) return;
  declared_ = true;
  set_type(type->second);
  const std::string options_name = "CsvOptions::defaults";
  if (!default_) return;
  append(*default_, {options_name, 0});
  set_type(*type_);
}

bool CsvColumn::is_missing(const CsvCell& cell) const {
  if (cell.quoted) return false;
  return cell.text.empty() ||
         std::find(options_.na_values.begin(), options_.na_values.end(), cell.text) != options_.na_values.end();
}

void CsvColumn::add(const CsvCell& cell, const CsvPlace& place) {
  if (is_missing(cell)) return add_missing(place);
  if (!type_) decide(cell.text);
  if (type_ != CsvType::kString && is_not_finite(cell.text)) refuse_not_finite(cell.text, place);
  append(cell.text, place);
}

void CsvColumn::decide(std::string_view first) {
  const std::optional<double> number = read_number<double>(first);
  if (!number || !std::isfinite(*number)) {
    set_type(CsvType::kString);
  } else {
    set_type(options_.infer_integers && is_integer(first) ? CsvType::kInt64 : CsvType::kFloat32);
  }
  const int64_t missing = undecided_;
  const CsvPlace place{undecided_file_, undecided_line_};
  for (int64_t i = 0; i < missing; ++i) add_missing(place);
}

void CsvColumn::set_type(CsvType type) {
  type_ = type;
  switch (type) {
    case CsvType::kFloat32:
      values_ = std::vector<float>();
      break;
    case CsvType::kFloat64:
      values_ = std::vector<double>();
      break;
    case CsvType::kInt64:
      values_ = std::vector<int64_t>();
      break;
    case CsvType::kString:
      values_ = std::vector<std::string>();
      break;
  }
}

void CsvColumn::add_missing(const CsvPlace& place) {
  if (!type_) {
    if (undecided_ == 0) {
      undecided_file_ = place.file;
      undecided_line_ = place.line;
    }
    ++undecided_;
    return;
  }
  if (default_) return append(*default_, place);
  require(type_ == CsvType::kString, place.file, ":", place.line, ": column '", name_, "': a number (",
          to_string(*type_), ") is missing, and CsvOptions::defaults has none for this column");
  append("", place);
}

void CsvColumn::append(std::string_view text, const CsvPlace& place) {
  if (auto* strings = std::get_if<std::vector<std::string>>(&values_)) {
    strings->emplace_back(text);
  } else {
    append_number(text, place);
  }
}

void CsvColumn::append_number(std::string_view text, const CsvPlace& place) {
  if (type_ == CsvType::kInt64 && !declared_ && !is_integer(text)) integers_to_floats();
  std::visit(
      [&](auto& values) {
        using Element = typename std::decay_t<decltype(values)>::value_type;
        if constexpr (!std::is_same_v<Element, std::string>) {
          const std::optional<Element> number = read_number<Element>(text);
          if (!number) refuse(text, place);
          values.push_back(*number);
        }
      },
      values_);
}

void CsvColumn::integers_to_floats() {
  const auto integers = std::get<std::vector<int64_t>>(values_);
  type_ = CsvType::kFloat32;
  values_ = std::vector<float>(integers.begin(), integers.end());
}

void CsvColumn::refuse_not_finite(std::string_view text, const CsvPlace& place) const {
  fail(ErrorKind::kInvalidArgument, in_file(place), ": column '", name_, "': '", printable(text),
       "' is not a finite number; list it in CsvOptions::na_values if it stands for a missing one");
}

void CsvColumn::refuse(std::string_view text, const CsvPlace& place) const {
  const std::string why = declared_ ? "CsvOptions::dtypes says so"
                                    : "by its first cell; CsvOptions::dtypes can say "
                                      "otherwise";
  fail(ErrorKind::kInvalidArgument, in_file(place), ": column '", name_, "': '", printable(text),
       "' is not a number that ", to_string(*type_), " can hold, as the column is (", why, ")");
}

Value CsvColumn::finish() {
  if (!type_) {
    require(default_.has_value(), undecided_file_, ":", undecided_line_, ": column '", name_,
            "': every cell is missing; give the column an entry in CsvOptions::dtypes or defaults");
    decide(*default_);
  }
  return std::visit(
      [](auto& values) -> Value {
        using Element = typename std::decay_t<decltype(values)>::value_type;
        if constexpr (std::is_same_v<Element, std::string>) {
          return StringTensor(std::move(values));
        } else {
          return to_tensor(values);
        }
      },
      values_);
}

}  // namespace belfry::data_internal
