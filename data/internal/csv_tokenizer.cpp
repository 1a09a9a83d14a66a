#include "data/internal/csv_tokenizer.h"

#include <algorithm>

#include "core/error.h"

namespace belfry::data_internal {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

CsvTokenizer::CsvTokenizer(std::string_view text, std::string file, char separator)
    : text_(text), file_(std::move(file)), separator_(separator) {
  if (text_.starts_with(kByteOrderMark)) text_.remove_prefix(kByteOrderMark.size());
}

bool CsvTokenizer::next(std::vector<CsvCell>& cells) {
  cells.clear();
  unescaped_.clear();
  skip_blank_lines();
  if (at_ == text_.size()) return false;
  line_ = next_line_;
  cells.push_back(cell());
  while (at_ < text_.size() && text_[at_] == separator_) {
    ++at_;
    cells.push_back(cell());
  }
  end_line();
  return true;
}

void CsvTokenizer::skip_blank_lines() {
  while (at_ < text_.size() && at_line_end()) end_line();
}

bool CsvTokenizer::at_line_end() const {
  const std::string_view rest = text_.substr(at_, 2);
  return rest.empty() || rest[0] == '\n' || rest == "\r\n" || (rest == "\r" && at_ + 1 == text_.size());
}

void CsvTokenizer::end_line() {
  if (at_ < text_.size() && text_[at_] == '\r') ++at_;
  if (at_ < text_.size()) ++at_;
  ++next_line_;
}

CsvCell CsvTokenizer::cell() {
  const bool quoted = at_ < text_.size() && text_[at_] == '"';
  return quoted ? quoted_cell() : plain_cell();
}

CsvCell CsvTokenizer::plain_cell() {
  const size_t start = at_;
  for (; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (c == separator_ || c == '\n' || (c == '\r' && at_line_end())) break;
    if (c == '"') refuse("a quote stands inside a cell that does not begin with one");
  }
  return {text_.substr(start, at_ - start), false};
}

CsvCell CsvTokenizer::quoted_cell() {
  ++at_;
  const size_t start = at_;
  std::string* unescaped = nullptr;  // needed from the first doubled quote on
  size_t piece = start;
  while (true) {
    const size_t quote = text_.find('"', at_);
    if (quote == std::string_view::npos) refuse("a quoted cell is not closed");
    next_line_ += std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                             text_.begin() + static_cast<std::ptrdiff_t>(quote), '\n');
    at_ = quote + 1;
    if (text_.substr(at_, 1) != "\"") break;
    if (!unescaped) unescaped = &unescaped_.emplace_back();
    unescaped->append(text_.substr(piece, at_ - piece));
    ++at_;
    piece = at_;
  }
  if (!at_line_end() && text_[at_] != separator_) refuse("text follows a closing quote");
  if (!unescaped) return {text_.substr(start, at_ - 1 - start), true};
  unescaped->append(text_.substr(piece, at_ - 1 - piece));
  return {*unescaped, true};
}

void CsvTokenizer::refuse(std::string_view what) const {
  fail(ErrorKind::kInvalidArgument, file_, ":", line_, ": ", what);
}

}  // namespace belfry::data_internal
