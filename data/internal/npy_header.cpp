#include "data/internal/npy_header.h"

#include <charconv>
#include <optional>

#include "core/error.h"
#include "core/internal/little_endian.h"

namespace belfry::data_internal {
namespace {

constexpr uint64_t kLongestHeader = 1 << 20;  // NumPy itself refuses more than 10000 bytes

// Reads the literal of a Python dict with the three keys that a header has.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& where) : rest_(text), where_(where) {}

  NpyHeader parse() {
    expect('{');
    while (!accept('}')) {
      entry();
      if (!accept(',') && !next_is('}')) damaged("a comma is missing");
    }
    skip_spaces();
    if (!rest_.empty()) damaged("text follows the dict");
    if (!descr_ || !fortran_order_ || !shape_) damaged("'descr', 'fortran_order' or 'shape' is missing");
    return {*std::move(descr_), *fortran_order_, *std::move(shape_)};
  }

 private:
  void entry() {
    const std::string key = text();
    expect(':');
    if (key == "descr") {
      require(!next_is('['), where_, ": this is an array of records; one of numbers or strings was wanted");
      descr_ = text();
    } else if (key == "fortran_order") {
      fortran_order_ = boolean();
    } else if (key == "shape") {
      shape_ = integers();
    } else {
      damaged("there is an unknown key");
    }
  }

  void skip_spaces() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size())); }

  bool next_is(char c) {
    skip_spaces();
    return rest_.starts_with(c);
  }

  bool accept(char c) {
    if (!next_is(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void expect(char c) {
    if (!accept(c)) damaged(concat("'", c, "' is missing"));
  }

  std::string text() {
    const char quote = next_is('"') ? '"' : '\'';
    expect(quote);
    const size_t end = rest_.find(quote);
    if (end == std::string_view::npos) damaged("a text is not closed");
    std::string value(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return value;
  }

  bool boolean() {
    skip_spaces();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (!rest_.starts_with(word)) continue;
      rest_.remove_prefix(word.size());
      return value;
    }
    damaged("'fortran_order' is neither True nor False");
  }

  std::vector<int64_t> integers() {
    std::vector<int64_t> values;
    expect('(');
    while (!accept(')')) {
      values.push_back(integer());
      if (!accept(',') && !next_is(')')) damaged("a comma is missing in 'shape'");
    }
    return values;
  }

  int64_t integer() {
    skip_spaces();
    int64_t value = -1;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc() || value < 0) damaged("'shape' holds something that is no size");
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    accept('L');  // of Python 2
    return value;
  }

  [[noreturn]] void damaged(const std::string& what) const {
    fail(ErrorKind::kDataLoss, where_, ": the header is damaged: ", what);
  }

  std::string_view rest_;
  const std::string& where_;
  std::optional<std::string> descr_;
  std::optional<bool> fortran_order_;
  std::optional<std::vector<int64_t>> shape_;
};

std::string take(internal::ByteReader& bytes, uint64_t length, const std::string& where) {
  if (length > bytes.left()) {
    fail(ErrorKind::kDataLoss, where, ": the header is cut off: ", length, " more bytes were wanted and there are ",
         bytes.left());
  }
  std::string taken(length, '\0');
  bytes.read(length, taken.data());
  return taken;
}

}  // namespace

NpyHeader read_npy_header(internal::ByteReader& bytes, const std::string& where) {
  const std::string start = take(bytes, kNpyMagic.size() + 2, where);
  require(start.starts_with(kNpyMagic), where, ": this is no array of NumPy, which begins with '\\x93NUMPY'");
  const int version = start[kNpyMagic.size()];
  require(version >= 1 && version <= 3, where, ": the array is of format ", version, "; 1 to 3 was wanted");
  const uint64_t length = version == 1 ? get_little_endian<uint16_t>(take(bytes, sizeof(uint16_t), where))
                                       : get_little_endian<uint32_t>(take(bytes, sizeof(uint32_t), where));
  if (length > kLongestHeader) {
    fail(ErrorKind::kDataLoss, where, ": the header has ", length, " bytes; at most ", kLongestHeader, " can be");
  }
  return HeaderParser(take(bytes, length, where), where).parse();
}

}  // namespace belfry::data_internal
