// Data as a value: sources, and what is done to them before a model sees them.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "batch.h"
#include "csv_options.h"
#include "dataset_iterator.h"
#include "dataset_options.h"
#include "element_spec.h"
#include "generator.h"
#include "numpy_options.h"
#include "text_line_options.h"

namespace belfry {

struct ShuffleOptions {
  // Elements are shuffled within consecutive windows of this many; 0 means all of them. A bigger window mixes better.
  // It costs 8 bytes an element over random access (see Dataset), and holds the elements themselves over a stream.
  int64_t buffer_size = 0;
  // Pass e is ordered by hash64_combine(seed, e), the same on every machine.
  uint64_t seed = 0;
  // False gives every pass the order of the first.
  bool reshuffle_each_iteration = true;
};

struct BatchOptions {
  // Leaves out a last batch of fewer than `size` elements.
  bool drop_remainder = false;
};

// For Dataset::repeat and TensorInputOptions::num_epochs.
inline constexpr int64_t kForever = -1;
// What Dataset::cardinality says where there is no number.
inline constexpr int64_t kInfiniteCardinality = -1;
inline constexpr int64_t kUnknownCardinality = -2;

// A description of a sequence of elements (see Batch) that can be read any number of times. Immutable: a transformation
// gives a new value and leaves this one as it is. Copies are cheap and share the source; threads may share one object,
// and read it through their own iterators.
//
// The transformations mean what they mean in tf.data, and their order matters: `map` before `batch` is given one
// example, after it a batch; `shuffle` before `repeat` keeps the passes apart, and `batch` after `repeat` fills a batch
// across two passes. One deviation: a shuffle with a buffer permutes windows rather than draws from a moving buffer, so
// that its position can be found again by reading one window.
//
// Sources of tensors and CSV files, and `take`, `skip`, `shard` and `map` over them, have random access: a shuffle
// moves indices only, and a position is reached without reading what lies before. Everything else is a stream.
//
// Options are checked at once: kInvalidArgument with the value given.
class Dataset {
 public:
  using MapFunction = std::function<Batch(Batch)>;

  // One element a row. The tensors are shared, not copied, unless LibTorch does not own their memory (from_blob without
  // a deleter): those are copied. They must not be written to as long as the data set lives. kInvalidArgument when
  // there is no feature, or rows differ.
  static Dataset from_tensors(Features features, Labels labels = {});

  // One element a data row. The files are read and parsed here, once, into columns; several files follow one another.
  // Errors name file, line and column: kNotFound for a file or column that is not there; kInvalidArgument for a row
  // that is short or long, text (also nan and inf) among numbers, a missing number without a default, quotes that do
  // not match, headers that differ, and files without rows.
  static Dataset from_csv(const std::string& path, const CsvOptions& options = {});
  static Dataset from_csv(const std::vector<std::string>& paths, const CsvOptions& options = {});
  static Dataset from_csv(std::initializer_list<std::string> paths, const CsvOptions& options = {});

  // One element a row of the arrays in a file of NumPy, .npz or .npy, which is read here: see read_npz for types and
  // errors. What are no labels are features, the array of a .npy file under the empty name. kNotFound for a label that
  // is no array there; kInvalidArgument for scalars, and where rows differ.
  static Dataset from_numpy(const std::string& path, const NumpyOptions& options = {});
  // As tf.distribute's experimental_make_numpy_dataset, of arrays that are here already: from_tensors.
  static Dataset from_numpy(Features features, Labels labels = {}) {
    return from_tensors(std::move(features), std::move(labels));
  }

  // One element a line, as tf.data's TextLineDataset: the feature "", a string, without the line's end (LF or CRLF).
  // Blank lines count. Several files follow one another. A stream: files are read as they are needed, and of each no
  // more than a buffer is held; a position is an offset, so that nothing is read again. kNotFound for a file that is
  // not there, kIo for one that cannot be read; kFailedPrecondition from next() when its size is another by then.
  static Dataset from_text_lines(const std::string& path, const TextLineOptions& options = {});
  static Dataset from_text_lines(const std::vector<std::string>& paths, const TextLineOptions& options = {});
  static Dataset from_text_lines(std::initializer_list<std::string> paths, const TextLineOptions& options = {});

  // Elements from a function. `factory` is called at the start of each pass and gives the function that makes that
  // pass's elements:  Dataset::from_generator([] { return [i = 0]() mutable -> std::optional<Batch> {…}; })
  // An element that nobody else holds is taken as it is; else (a buffer that the function fills again for the next one,
  // a slice of a big tensor, from_blob) it is copied. kInvalidArgument from next() for an element without features, and
  // for undefined tensors.
  static Dataset from_generator(std::function<Generator()> factory, const GeneratorOptions& options = {});

  // `function` of every element. It should depend on the element alone: over random access it is called in the order of
  // use, and for rows before a restored position not at all. It must not write into the tensors that it is given, which
  // are those of the source: kInvalidArgument from next() when it did. Random numbers drawn in it come from the
  // process's generator, which a checkpoint does not hold: with them a resumed training differs from one that never
  // stopped. Derive them from the element, or draw them in the model_fn, where each step has its seed.
  Dataset map(MapFunction function) const;
  Dataset shuffle(const ShuffleOptions& options) const;
  // The elements `count` times over, or without end. Without end over nothing is nothing.
  Dataset repeat(int64_t count = kForever) const;
  // `size` elements stacked along a new dimension 0. Over random access these are slices of the columns, without a copy
  // where the rows are neighbours.
  Dataset batch(int64_t size, const BatchOptions& options = {}) const;
  Dataset take(int64_t count) const;
  Dataset skip(int64_t count) const;
  // The elements index, index + count, index + 2 * count … kShardHint for both leaves the choice to auto_shard, without
  // which next() says kFailedPrecondition.
  Dataset shard(int64_t count, int64_t index) const;
  // Reads up to `buffer` elements ahead in a background thread, one for each iterator and pass.
  Dataset prefetch(int64_t buffer) const;

  // The same elements, to be distributed in another way. Whatever is made of the result keeps the options, and of two
  // calls the later counts.
  Dataset with_options(const DatasetOptions& options) const { return Dataset(node_, options); }
  const DatasetOptions& options() const { return options_; }
  // What worker `index` of `workers` reads, as options().distribute.auto_shard_policy wants it. The transformations are
  // repeated over the worker's files (kFile), or its elements are chosen after them (kData). A lone worker reads
  // everything. kFile, and kAuto on files: kInvalidArgument, with both numbers, for fewer files than workers; kFile:
  // kNotFound where the source is not files. kData: kInvalidArgument, from the first next() of every worker, for fewer
  // elements than workers.
  Dataset auto_shard(int64_t workers, int64_t index) const;

  DatasetIterator iterate() const { return DatasetIterator(node_); }

  // Elements of one reading, or kInfiniteCardinality, or kUnknownCardinality where a Generator decides or lines were
  // not counted.
  int64_t cardinality() const;
  // Whether dimension 0 of an element is the examples: it comes from `batch` or a batched generator.
  bool batched() const;
  // The size given to the last `batch`, which the last element may fall short of. Nothing where elements are no
  // batches, come from a batched generator, or went through `map` since.
  std::optional<int64_t> batch_size() const;
  // Names, types and shapes of an element, as far as they are sure without making one: a batch's dimension 0 is
  // kUnknownSize without drop_remainder. Nothing for a generator, and after `map`.
  std::optional<ElementSpec> element_spec() const;
  // The pipeline in one line: sources with names, types and shapes (and of files base name, size and hash of the
  // content, or of the first and last 64 KiB of text and NumPy files), then the transformations with their options and
  // seeds. Functions appear by their place only; so do the values in tensors.
  std::string describe() const;
  // hash64 of describe(): differs where a saved position would not fit.
  uint64_t fingerprint() const;

 private:
  explicit Dataset(std::shared_ptr<const data_internal::Node> node, const DatasetOptions& options = {})
      : node_(std::move(node)), options_(options) {}

  std::shared_ptr<const data_internal::Node> node_;
  DatasetOptions options_;
};

}  // namespace belfry
