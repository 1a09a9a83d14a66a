#include "belfry/core/example.pb.h"
#include "tests/testing.h"

namespace proto = belfry::proto;

TEST_CASE("examples have TensorFlow's wire format", "[core]") {
  // What TensorFlow 2.15 writes for x: [1.5, -2].
  const std::string example_bytes("\x0a\x13\x0a\x11\x0a\x01x\x12\x0c\x12\x0a\x0a\x08\x00\x00\xc0\x3f\x00\x00\x00\xc0",
                                  21);
  proto::Example example;
  proto::FloatList& numbers = *(*example.mutable_features()->mutable_feature())["x"].mutable_float_list();
  numbers.add_value(1.5F);
  numbers.add_value(-2);
  CHECK(example.SerializeAsString() == example_bytes);
  CHECK(proto::Example::descriptor()->file()->name() == "belfry/core/example.proto");

  proto::PartialExample partial;
  REQUIRE(partial.ParseFromString(example_bytes));
  REQUIRE(partial.features().entry_size() == 1);
  CHECK(partial.features().entry(0).name() == "x");
  CHECK(partial.features().entry(0).feature() == example.features().feature().at("x").SerializeAsString());
}

TEST_CASE("sequence examples have TensorFlow's wire format", "[core]") {
  // What TensorFlow 2.15 writes for the context id: [-1, 300] and the words [["a"], ["b", "\xff"]].
  const std::string bytes(
      "\x0a\x18\x0a\x16\x0a\x02id\x12\x10\x1a\x0e\x0a\x0c\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\xac\x02"
      "\x12\x1c\x0a\x1a\x0a\x05words\x12\x11\x0a\x05\x0a\x03\x0a\x01"
      "a\x0a\x08\x0a\x06\x0a\x01"
      "b\x0a\x01\xff",
      56);
  proto::SequenceExample sequence;
  REQUIRE(sequence.ParseFromString(bytes));
  const auto& ids = sequence.context().feature().at("id").int64_list().value();
  CHECK(std::vector<int64_t>(ids.begin(), ids.end()) == std::vector<int64_t>{-1, 300});
  const auto& words = sequence.feature_lists().feature_list().at("words").feature();
  REQUIRE(words.size() == 2);
  CHECK(words[0].bytes_list().value(0) == "a");
  CHECK(words[1].bytes_list().value(1) == "\xff");
  CHECK(sequence.SerializeAsString() == bytes);
}
