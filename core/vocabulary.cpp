#include "core/vocabulary.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <unordered_map>

#include "core/error.h"
#include "core/hash64.h"

namespace belfry {
namespace {

void check(const VocabularyOptions& options, const std::string& place) {
  require(!options.size || *options.size > 0, place, ": the size is ", options.size.value_or(0),
          "; at least 1 was wanted");
  require(options.num_oov_buckets >= 0, place, ": ", options.num_oov_buckets,
          " out-of-vocabulary buckets; 0 or more were wanted");
  require(options.num_oov_buckets == 0 || options.default_value == -1, place, ": both ", options.num_oov_buckets,
          " out-of-vocabulary buckets and the default value ", options.default_value, "; give one of the two");
}

std::vector<std::string> lines_of(std::string_view text, int64_t limit, const std::string& place) {
  std::vector<std::string> lines;
  while (!text.empty() && static_cast<int64_t>(lines.size()) < limit) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() && end == std::string_view::npos) break;
    require(!line.empty(), place, ": line ", lines.size() + 1, " is empty; a word was wanted");
    lines.emplace_back(line);
  }
  return lines;
}

int64_t limit_of(const VocabularyOptions& options) {
  return options.size.value_or(std::numeric_limits<int64_t>::max());
}

}  // namespace

struct Vocabulary::Table {
  std::vector<std::string> words;
  std::unordered_map<std::string_view, int64_t> ids;  // views of `words`
  VocabularyOptions options;
  std::string path;
};

Vocabulary::Vocabulary(std::vector<std::string> words, const VocabularyOptions& options)
    : Vocabulary(std::move(words), options, "") {}

Vocabulary::Vocabulary(std::vector<std::string> words, const VocabularyOptions& options, const std::string& path) {
  const std::string place = path.empty() ? "Vocabulary" : "Vocabulary " + path;
  check(options, place);
  require(!words.empty(), place, ": there are no words");
  const auto count = static_cast<int64_t>(words.size());
  require(options.size.value_or(count) <= count, place, ": ", count, " words; ", options.size.value_or(count),
          " were wanted");
  words.resize(static_cast<size_t>(options.size.value_or(count)));
  require(options.num_oov_buckets <= std::numeric_limits<int64_t>::max() - count, place, ": ", options.num_oov_buckets,
          " out-of-vocabulary buckets are more than ids can count");

  auto table = std::make_shared<Table>();
  table->words = std::move(words);
  table->options = options;
  table->path = path;
  table->ids.reserve(table->words.size());
  for (const std::string& word : table->words) {
    const auto [found, is_new] = table->ids.emplace(word, static_cast<int64_t>(table->ids.size()));
    if (!is_new) {
      fail(ErrorKind::kAlreadyExists, place, ": the word '", word, "' comes twice, as ", found->second, " and ",
           table->ids.size());
    }
  }
  table_ = std::move(table);
}

Vocabulary Vocabulary::from_file(const std::string& path, FileSystem& files, const VocabularyOptions& options) {
  const std::string place = "Vocabulary " + path;
  check(options, place);
  return {lines_of(read_file(files, path), limit_of(options), place), options, path};
}

at::Tensor Vocabulary::lookup(const StringTensor& strings) const {
  const auto buckets = static_cast<uint64_t>(num_oov_buckets());
  at::Tensor ids = at::empty(strings.sizes(), at::kLong);
  std::transform(strings.begin(), strings.end(), ids.mutable_data_ptr<int64_t>(), [&](const std::string& text) {
    if (const auto found = table_->ids.find(text); found != table_->ids.end()) return found->second;
    return buckets > 0 ? size() + static_cast<int64_t>(hash64(text) % buckets) : default_value();
  });
  return ids;
}

const std::vector<std::string>& Vocabulary::words() const { return table_->words; }
int64_t Vocabulary::num_oov_buckets() const { return table_->options.num_oov_buckets; }
int64_t Vocabulary::default_value() const { return table_->options.default_value; }
const std::string& Vocabulary::path() const { return table_->path; }
std::string Vocabulary::base_name() const { return path().substr(path().find_last_of('/') + 1); }

std::pair<int64_t, int64_t> Vocabulary::id_range() const {
  if (num_oov_buckets() > 0) return {0, size() + num_oov_buckets()};
  return {std::min<int64_t>(0, default_value()), std::max(size() - 1, default_value()) + 1};
}

}  // namespace belfry
