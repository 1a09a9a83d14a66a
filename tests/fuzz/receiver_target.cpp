#include <ATen/ATen.h>

#include "core/error.h"
#include "export/internal/receiver_json.h"
#include "export/internal/receiver_program.h"
#include "export/receiver_builder.h"
#include "tests/fuzz/fuzz_target.h"

namespace belfry::fuzz {
namespace {

constexpr int64_t kRows = 2;
constexpr int64_t kMostValues = 10'000;  // of an input that is made up here

// A request of any numbers and words; nothing for inputs that are too large to be made up.
bool request_for(const Graph& graph, TensorDict& request) {
  for (const GraphNode& node : graph.nodes()) {
    if (node.operation != Operation::kInput) continue;
    GraphType type = graph.type(node.outputs[0]);
    int64_t count = 1;
    for (int64_t& size : type.shape) {
      size = size == kFreeSize ? kRows : size;
      if (size > kMostValues || (count *= size) > kMostValues) return false;
    }
    const std::string& name = node.attributes.text("name");
    if (type.dtype == kString) {
      request.set(name, StringTensor(std::vector<std::string>(count, "a"), type.shape));
    } else {
      request.set(name, at::ones(type.shape, at::TensorOptions(type.dtype)));
    }
  }
  return true;
}

// A request that the work refuses is no fault of the description.
void ask(const internal::ReceiverProgram& program) {
  TensorDict request;
  if (!request_for(program.graph(), request)) return;
  try {
    const TensorDict features = program.run(request);
    promise(features.size() <= program.graph().outputs().size(), "features are those of the receiver");
  } catch (const Error& error) {
    promise(error.kind() == ErrorKind::kInvalidArgument, "the kind of the error is kInvalidArgument");
  }
}

bool run(std::string_view bytes) {
  std::optional<internal::ReceiverProgram> program;
  try {
    program.emplace(internal::receiver_from_json(std::string(bytes)));
  } catch (const Error& error) {
    promise(error.kind() == ErrorKind::kDataLoss, "the kind of the error is kDataLoss");
    return false;
  }
  ask(*program);
  return true;
}

std::string words_and_numbers() {
  ReceiverBuilder builder;
  GraphBuilder& graph = builder.graph();
  const GraphValue word = builder.input("word", {.dtype = kString, .shape = {-1, 2}});
  const GraphValue number = builder.input("number", {.shape = {-1, 1}});
  builder.set_feature("id", graph.vocabulary_lookup(word, Vocabulary({"a", "\xff"}, {.num_oov_buckets = 2})));
  builder.set_feature("cross", graph.cross_hash({word, word}, 9));
  builder.set_feature("place", graph.squeeze(graph.bucketize(number, {0, 1}), {1}));
  builder.set_feature("hot", graph.one_hot(graph.hash_bucket(graph.slice(word, 1, 0, 1), 4), 4));
  return internal::receiver_json(*std::move(builder).build().graph());
}

std::string examples() {
  const auto receiver =
      build_parsing_serving_input_receiver_fn({{"x", FixedLenFeature{.shape = {2}, .default_value = at::ones({2})}},
                                               {"id", VarLenFeature{.dtype = at::kLong, .length = 3}}});
  return internal::receiver_json(*receiver().graph());
}

std::vector<std::string> seeds() { return {words_and_numbers(), examples()}; }

}  // namespace

const FuzzTarget receiver_target{"receiver", run, seeds};

}  // namespace belfry::fuzz
