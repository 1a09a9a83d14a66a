#include <ATen/ops/zeros.h>

#include "belfry/core/example.pb.h"
#include "core/error.h"
#include "data/parse_example.h"
#include "tests/fuzz/fuzz_target.h"

namespace belfry::fuzz {
namespace {

const FeatureSpecs& specs() {
  static const auto* all = new FeatureSpecs{
      {"x", FixedLenFeature{.shape = {2}}},
      {"id", FixedLenFeature{.dtype = at::kLong, .default_value = at::Tensor(at::zeros({1}, at::kLong))}},
      {"city", FixedLenFeature{.dtype = kString, .default_value = StringTensor({"none"})}},
      {"tags", VarLenFeature{.dtype = kString, .length = 3}},
      {"times", VarLenFeature{.dtype = at::kLong, .length = 2}},
      {"weights", VarLenFeature{.dtype = at::kFloat, .length = 4}}};
  return *all;
}

bool run(std::string_view bytes) {
  try {
    const TensorDict parsed = parse_example(std::vector<std::string>{std::string(bytes)}, specs());
    promise(parsed.size() == specs().size() && parsed.rows() == 1, "each spec has a tensor of one row");
    promise(parsed["x"].numel() == 2 && parsed.strings("tags").numel() == 3, "each row has the values of its spec");
    return true;
  } catch (const Error& error) {
    promise(error.kind() == ErrorKind::kInvalidArgument, "the kind of the error is kInvalidArgument");
    promise(std::string_view(error.what()).find("row 0") != std::string_view::npos, "the error names the row");
    return false;
  }
}

std::vector<std::string> seeds() {
  proto::Example example;
  auto& features = *example.mutable_features()->mutable_feature();
  for (const float x : {1.5F, -2.F}) features["x"].mutable_float_list()->add_value(x);
  std::vector<std::string> all = {example.SerializeAsString()};
  features["id"].mutable_int64_list()->add_value(-7);
  features["city"].mutable_bytes_list()->add_value("Bonn");
  for (const char* tag : {"a", "", "b\xff", "more"}) features["tags"].mutable_bytes_list()->add_value(tag);
  for (int i = 0; i < 40; ++i) features["times"].mutable_int64_list()->add_value(int64_t{1} << i);
  features["weights"].mutable_float_list();
  features["other"];
  all.push_back(example.SerializeAsString());
  return all;
}

}  // namespace

const FuzzTarget example_target{"example", run, seeds};

}  // namespace belfry::fuzz
