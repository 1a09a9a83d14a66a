#include "core/vocabulary.h"

#include <thread>

#include "core/hash64.h"
#include "tests/support/check_fails.h"
#include "tests/support/temporary_directory.h"
#include "tests/testing.h"

using namespace belfry;
using testing::TemporaryDirectory;

namespace {

std::vector<int64_t> ids(const Vocabulary& vocabulary, const StringTensor& strings) {
  const at::Tensor found = vocabulary.lookup(strings);
  const int64_t* data = found.const_data_ptr<int64_t>();
  return {data, data + found.numel()};
}

std::string written(const TemporaryDirectory& folder, std::string_view text) {
  const std::string path = folder.file("words.txt");
  write_file_atomically(posix_file_system(), path, text);
  return path;
}

}  // namespace

TEST_CASE("words are numbered in their order", "[core][E101]") {
  const Vocabulary vocabulary({"red", "", "blue", "gr\xC3\xBCn"});
  CHECK(ids(vocabulary, {"blue", "red", "", "gr\xC3\xBCn"}) == std::vector<int64_t>{2, 0, 1, 3});
  CHECK(vocabulary.lookup(StringTensor({"red", "blue"}).reshape({1, 2, 1})).sizes() == at::IntArrayRef{1, 2, 1});
  CHECK(vocabulary.lookup(StringTensor()).sizes() == at::IntArrayRef{0});
  CHECK(vocabulary.words() == std::vector<std::string>{"red", "", "blue", "gr\xC3\xBCn"});
  CHECK(vocabulary.size() == 4);
  CHECK(vocabulary.path().empty());
  CHECK(vocabulary.base_name().empty());
}

TEST_CASE("other words get the default value or a bucket by their hash", "[core][E101]") {
  CHECK(ids(Vocabulary({"a", "b"}), {"c", "a", "A"}) == std::vector<int64_t>{-1, 0, -1});
  CHECK(ids(Vocabulary({"a", "b"}, {.default_value = 9}), {"c", "b"}) == std::vector<int64_t>{9, 1});
  const Vocabulary buckets({"a", "b"}, {.num_oov_buckets = 3});
  CHECK(ids(buckets, {"b", "hello world"}) ==
        std::vector<int64_t>{1, 2 + static_cast<int64_t>(hash64("hello world") % 3)});
  CHECK(buckets.num_oov_buckets() == 3);
  CHECK(buckets.default_value() == -1);
}

TEST_CASE("the range of ids holds all that a lookup can give", "[core][E101]") {
  using Range = std::pair<int64_t, int64_t>;
  CHECK(Vocabulary({"a", "b"}).id_range() == Range(-1, 2));
  CHECK(Vocabulary({"a", "b"}, {.default_value = 1}).id_range() == Range(0, 2));
  CHECK(Vocabulary({"a", "b"}, {.default_value = 7}).id_range() == Range(0, 8));
  CHECK(Vocabulary({"a", "b"}, {.num_oov_buckets = 4}).id_range() == Range(0, 6));
}

TEST_CASE("a vocabulary that cannot be right is refused", "[core][E101]") {
  CHECK_FAILS(Vocabulary(std::vector<std::string>{}), ErrorKind::kInvalidArgument, "no words");
  CHECK_FAILS(Vocabulary({"a", "b", "a"}), ErrorKind::kAlreadyExists, "the word 'a' comes twice, as 0 and 2");
  CHECK_FAILS(Vocabulary({"a"}, {.num_oov_buckets = 2, .default_value = 0}), ErrorKind::kInvalidArgument,
              "both 2 out-of-vocabulary buckets and the default value 0");
  CHECK_FAILS(Vocabulary({"a"}, {.num_oov_buckets = -1}), ErrorKind::kInvalidArgument, "-1 out-of-vocabulary buckets");
  CHECK_FAILS(Vocabulary({"a"}, {.num_oov_buckets = std::numeric_limits<int64_t>::max()}), ErrorKind::kInvalidArgument,
              "more than ids can count");
  CHECK_FAILS(Vocabulary({"a"}, {.size = 0}), ErrorKind::kInvalidArgument, "the size is 0");
  CHECK_FAILS(Vocabulary({"a"}, {.size = 2}), ErrorKind::kInvalidArgument, "1 words; 2 were wanted");
}

TEST_CASE("a vocabulary file has one word a line", "[core][E102]") {
  const TemporaryDirectory folder;
  const auto words = [&](std::string_view text) { return Vocabulary::from_file(written(folder, text)).words(); };
  CHECK(words("a\nb\n") == std::vector<std::string>{"a", "b"});
  CHECK(words("a\r\nb c\r\n\r") == std::vector<std::string>{"a", "b c"});
  CHECK(words("a\n \nb") == std::vector<std::string>{"a", " ", "b"});
  CHECK_FAILS(words("a\n\nb\n"), ErrorKind::kInvalidArgument, "words.txt: line 2 is empty");
  CHECK_FAILS(words("a\nb\na"), ErrorKind::kAlreadyExists, "words.txt: the word 'a'");
  CHECK_FAILS(words(""), ErrorKind::kInvalidArgument, "words.txt: there are no words");
  CHECK_FAILS(Vocabulary::from_file(folder.file("other.txt")), ErrorKind::kNotFound, "other.txt");
}

TEST_CASE("a vocabulary file can be read in part and asked for its name", "[core][E102]") {
  const TemporaryDirectory folder;
  const std::string path = written(folder, "a\nb\na\n\n");
  const Vocabulary vocabulary = Vocabulary::from_file(path, posix_file_system(), {.size = 2, .num_oov_buckets = 1});
  CHECK(vocabulary.size() == 2);
  CHECK(ids(vocabulary, {"b", "c"}) == std::vector<int64_t>{1, 2});
  CHECK(vocabulary.path() == path);
  CHECK(vocabulary.base_name() == "words.txt");
  CHECK_FAILS(Vocabulary::from_file(written(folder, "a\nb"), posix_file_system(), {.size = 3}),
              ErrorKind::kInvalidArgument, "words.txt: 2 words; 3 were wanted");
}

TEST_CASE("copies of a vocabulary are used by several threads", "[core][E101]") {
  std::vector<std::string> words;
  for (int i = 0; i < 1000; ++i) words.push_back("word " + std::to_string(i));
  auto original = std::make_unique<Vocabulary>(words);
  std::vector<int64_t> first(4, -2);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < first.size(); ++t) {
    threads.emplace_back([copy = *original, &first, &words, t] { first[t] = ids(copy, words)[999 - t]; });
  }
  original.reset();
  for (std::thread& thread : threads) thread.join();
  CHECK(first == std::vector<int64_t>{999, 998, 997, 996});
}
