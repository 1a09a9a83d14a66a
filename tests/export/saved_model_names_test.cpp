// Names of nodes and signatures in a SavedModel.

#include <cctype>
#include <set>

#include "saved_model_nodes.h"
#include "tests/testing.h"
#include "traced_models.h"
#include "written_saved_model.h"

using namespace belfry;
using namespace belfry::testing;

TEST_CASE("Names of any letters stay in the signature", "[export][savedmodel]") {
  const auto function = [](const Features& features) -> TensorDict {
    return {{"größe !", features["_x y"] * 2}, {"größe ?", features["_x y"] * 3}};
  };
  const auto meta =
      decoded(written(TraceRequest{function, ServingInputReceiver(Specs{{"_x y", {.shape = {-1, 2}}}}), {}}));
  check_nodes(meta);
  const auto& signature = meta.signature_def().at(kServingDefault);
  CHECK(signature.inputs().contains("_x y"));
  CHECK(signature.outputs().contains("größe !"));
  CHECK(signature.outputs().at("größe !").name() != signature.outputs().at("größe ?").name());
}

TEST_CASE("Names that differ in case alone are names of different nodes all the same", "[export][savedmodel]") {
  const auto function = [](const Features& features) -> TensorDict {
    return {{"Y", features["x"] * 2}, {"y", features["x"] * 3}};
  };
  const auto meta =
      decoded(written(TraceRequest{function, ServingInputReceiver(Specs{{"x", {.shape = {-1, 2}}}}), {}}));
  std::set<std::string> names;
  for (const auto& [name, node] : nodes_of(meta)) {
    std::string lower = name;
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    CHECK(names.insert(lower).second);
  }
}
