// Models of strings and examples, for the tests here and for those beside TensorFlow.
#pragma once

#include <string>
#include <vector>

#include "export/receiver_builder.h"
#include "export/saved_model_export.h"

namespace belfry::testing {

struct ReceiverModel {
  std::string name;
  ExportRequest request;
  std::vector<TensorDict> requests;  // that it can be asked, of several numbers of rows
};

// A Wide & Deep of raw strings: a vocabulary with buckets, a hash, a cross, buckets of a number.
ReceiverModel raw_strings_model();
// Examples with required, defaulted and padded features; a classification with names, a regression and a prediction.
// Its vocabulary is a file of `folder`, and so becomes an asset.
ReceiverModel examples_model(const std::string& folder);
// Examples, or their features as tensors.
ReceiverModel alternative_model();

// A serialized tf.Example.
class ExampleWriter {
 public:
  ExampleWriter& floats(const std::string& key, const std::vector<float>& values);
  ExampleWriter& integers(const std::string& key, const std::vector<int64_t>& values);
  ExampleWriter& strings(const std::string& key, const std::vector<std::string>& values);
  std::string bytes() const;

 private:
  struct Entry {
    std::string key;
    std::vector<float> floats;
    std::vector<int64_t> integers;
    std::vector<std::string> strings;
    int kind;
  };
  std::vector<Entry> entries_;
};

}  // namespace belfry::testing
