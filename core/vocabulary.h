// Words and their numbers.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "file_system.h"
#include "string_tensor.h"

namespace belfry {

// What is looked up besides the words.
struct VocabularyOptions {
  std::optional<int64_t> size = {};  // only the first `size` words or lines; all when not given
  int64_t num_oov_buckets = 0;       // other words become ids from the number of words on, by their hash64
  int64_t default_value = -1;        // the id of other words where there are no buckets
};

// Words numbered from 0 in their order, as in TensorFlow's StaticVocabularyTable and index_table_from_file. Immutable;
// copies share the words, and threads may use one object at the same time.
class Vocabulary {
 public:
  // kInvalidArgument for no words, a size below 1 or above their number, a negative number of buckets, and for buckets
  // together with a default_value; kAlreadyExists, with the word and both ids, for one that comes twice.
  explicit Vocabulary(std::vector<std::string> words, const VocabularyOptions& options = {});
  // One word a line of a text file; the end of a line is a line feed, with or without a carriage return before it, and
  // the last line may lack it. Errors as above, all with the path; kInvalidArgument, with the line, for an empty line;
  // kNotFound or kIo when the file cannot be read. Lines beyond `size` are not looked at.
  static Vocabulary from_file(const std::string& path, FileSystem& files = posix_file_system(),
                              const VocabularyOptions& options = {});

  // The id of each string: int64 of the same shape, on the CPU. One that is no word gets size() + hash64 modulo
  // num_oov_buckets(), or default_value() where there are no buckets.
  at::Tensor lookup(const StringTensor& strings) const;

  const std::vector<std::string>& words() const;
  int64_t size() const { return static_cast<int64_t>(words().size()); }  // without the buckets
  int64_t num_oov_buckets() const;
  int64_t default_value() const;
  // All ids that lookup() can give lie in [first, second).
  std::pair<int64_t, int64_t> id_range() const;

  // The file that the words came from, as it was given, and its name without folders; empty for a list.
  const std::string& path() const;
  std::string base_name() const;

 private:
  struct Table;
  Vocabulary(std::vector<std::string> words, const VocabularyOptions& options, const std::string& path);

  std::shared_ptr<const Table> table_;
};

}  // namespace belfry
