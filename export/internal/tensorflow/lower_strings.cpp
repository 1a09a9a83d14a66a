// Strings, the examples and vocabularies that they come from, and the numbers that they become.
#include <ATen/ATen.h>

#include <algorithm>

#include "core/error.h"
#include "export/internal/tensorflow/lowering.h"

namespace belfry::internal {
namespace {

TfTensor default_tensor(GraphDefBuilder& out, const GraphNode& node, size_t i, const std::vector<int64_t>& shape) {
  const auto& attribute = node.attributes.all().find(concat("default_", i))->second;
  if (const auto* strings = std::get_if<StringTensor>(&attribute)) return out.constant(strings->reshape(shape));
  return out.constant(std::get<at::Tensor>(attribute).reshape(shape));
}

// No elements: the feature has to be there.
TfTensor required(GraphDefBuilder& out, c10::ScalarType dtype) {
  if (dtype == kString) return out.constant(StringTensor(std::vector<std::string>()));
  return out.constant(at::empty({0}, at::TensorOptions(dtype)));
}

// TensorFlow pads to the longest row: `length` more, of which the first `length` in all stay.
TfTensor padded_to(GraphDefBuilder& out, const TfTensor& x, int64_t length, const TfTensor& padding) {
  const TfTensor rows = out.slice(out.shape(x), 1, 0, 0, 1);
  const TfTensor shape = out.concatenate({rows, out.int64s({length})}, 0);
  const TfTensor more =
      out.node("Fill").inputs({shape, padding}).type("T", x.dtype).type("index_type", at::kLong).output(x.dtype);
  return out.slice(out.concatenate({x, more}, 1), 2, 1, 0, length);
}

void lower_parse_example(Lowering& lowering, const GraphNode& node) {
  GraphDefBuilder& out = lowering.out();
  const StringTensor& keys = node.attributes.strings("keys");
  const std::vector<int64_t>& lengths = node.attributes.integers("lengths");
  const TfTensor none = out.constant(StringTensor(std::vector<std::string>()));
  std::vector<TfTensor> inputs{lowering.input(node, 0), none, none, out.constant(keys), none};
  std::vector<c10::ScalarType> dtypes;
  std::vector<std::vector<int64_t>> shapes;
  for (size_t i = 0; i < lengths.size(); ++i) {
    const GraphType& type = lowering.result_type(node, i);
    const std::vector<int64_t> shape(type.shape.begin() + 1, type.shape.end());
    const bool has_default = node.attributes.contains(concat("default_", i));
    const std::vector<int64_t> of_default = lengths[i] < 0 ? shape : std::vector<int64_t>();  // a padding is one value
    inputs.push_back(has_default ? default_tensor(out, node, i, of_default) : required(out, type.dtype));
    dtypes.push_back(type.dtype);
    shapes.push_back(lengths[i] < 0 ? shape : std::vector<int64_t>{-1});
  }
  TfNode parse = out.node("ParseExampleV2", "ParseExample");
  parse.inputs(inputs).types("Tdense", dtypes).shapes("dense_shapes", shapes).integer("num_sparse", 0);
  parse.types("sparse_types", {}).types("ragged_value_types", {}).types("ragged_split_types", {});
  for (size_t i = 0; i < lengths.size(); ++i) {
    const TfTensor dense = parse.output(dtypes[i], static_cast<int>(i));
    lowering.set(node, lengths[i] < 0 ? dense : padded_to(out, dense, lengths[i], inputs[5 + i]), i);
  }
}

TfTensor hash_bucket(GraphDefBuilder& out, const TfTensor& strings, int64_t buckets) {
  return out.node("StringToHashBucketFast").input(strings).integer("num_buckets", buckets).output(at::kLong);
}

void lower_hash_bucket(Lowering& lowering, const GraphNode& node) {
  const int64_t buckets = node.attributes.integer("buckets");
  lowering.set(node, hash_bucket(lowering.out(), lowering.input(node, 0), buckets));
}

std::string lines_of(const StringTensor& words) {
  std::string text;
  for (const std::string& word : words) text += word + "\n";
  return text;
}

// TensorFlow's reader of lines drops them.
bool has_carriage_return(const StringTensor& words) {
  return std::any_of(words.begin(), words.end(),
                     [](const std::string& word) { return word.find('\r') != std::string::npos; });
}

// The table's handle. Its file lies among the assets; words that came without a file are constants.
TfTensor vocabulary_table(Lowering& lowering, const GraphNode& node) {
  GraphDefBuilder& out = lowering.out();
  const StringTensor& words = node.attributes.strings("words");
  const std::string& file = node.attributes.text("file");
  TfNode table = out.node("HashTableV2", "vocabulary");
  const TfTensor handle = table.output(kString);
  table.text("shared_name", handle.name).type("key_dtype", kString).type("value_dtype", at::kLong);
  if (file.empty() || has_carriage_return(words)) {
    TfNode fill = out.node("InitializeTableV2", "vocabulary_words");
    fill.inputs({handle, out.constant(words), out.constant(at::arange(words.numel(), at::kLong))});
    lowering.initialize_by(fill.type("Tkey", kString).type("Tval", at::kLong).output(kString));
  } else {
    TfNode fill = out.node("InitializeTableFromTextFileV2", "vocabulary_file");
    fill.inputs({handle, lowering.asset(file, lines_of(words))});
    // A whole line is a key (-2), and its number the value (-1).
    fill.integer("key_index", -2).integer("value_index", -1).integer("vocab_size", words.numel());
    lowering.initialize_by(fill.output(kString));
  }
  return handle;
}

void lower_vocabulary_lookup(Lowering& lowering, const GraphNode& node) {
  GraphDefBuilder& out = lowering.out();
  const TfTensor strings = lowering.input(node, 0);
  const int64_t buckets = node.attributes.integer("buckets");
  const TfTensor otherwise = out.scalar(buckets > 0 ? -1 : node.attributes.integer("default"), at::kLong);
  TfNode find = out.node("LookupTableFindV2").inputs({vocabulary_table(lowering, node), strings, otherwise});
  const TfTensor ids = find.type("Tin", kString).type("Tout", at::kLong).output(at::kLong);
  if (buckets == 0) return lowering.set(node, ids);
  const int64_t size = node.attributes.strings("words").numel();
  const TfTensor beyond = out.binary("AddV2", hash_bucket(out, strings, buckets), size);
  const TfTensor unknown{out.binary("Equal", ids, -1).name, at::kBool};
  lowering.set(node, out.node("SelectV2").inputs({unknown, beyond, ids}).type("T", at::kLong).output(at::kLong));
}

// The operation gives a sparse tensor, whose rows are all of one length here.
void lower_cross_hash(Lowering& lowering, const GraphNode& node) {
  GraphDefBuilder& out = lowering.out();
  std::vector<TfTensor> columns;
  std::vector<c10::ScalarType> dtypes;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    columns.push_back(lowering.input(node, i));
    dtypes.push_back(columns.back().dtype);
  }
  TfNode cross = out.node("SparseCross").inputs(columns).types("dense_types", dtypes).types("sparse_types", {});
  cross.integer("N", 0).flag("hashed_output", true).integer("num_buckets", node.attributes.integer("buckets"));
  cross.integer("hash_key", node.attributes.integer("key")).type("out_type", at::kLong);
  cross.type("internal_type", at::kLong);
  lowering.set(node, out.reshape(cross.output(at::kLong, 1), {-1, lowering.result_type(node).shape[1]}));
}

void lower_bucketize(Lowering& lowering, const GraphNode& node) {
  TfNode buckets = lowering.out().node("Bucketize").input(lowering.input(node, 0));
  buckets.type("T", at::kFloat).numbers("boundaries", node.attributes.tensor("boundaries"));
  lowering.set(node, lowering.out().cast(buckets.output(at::kInt), at::kLong));
}

void lower_as_string(Lowering& lowering, const GraphNode& node) {
  const TfTensor x = lowering.input(node, 0);
  lowering.set(node, lowering.out().node("AsString").input(x).type("T", x.dtype).output(kString));
}

}  // namespace

void add_string_lowerings(LoweringTable& table) {
  table.insert({{Operation::kParseExample, lower_parse_example},
                {Operation::kHashBucket, lower_hash_bucket},
                {Operation::kVocabularyLookup, lower_vocabulary_lookup},
                {Operation::kCrossHash, lower_cross_hash},
                {Operation::kBucketize, lower_bucketize},
                {Operation::kAsString, lower_as_string}});
}

}  // namespace belfry::internal
