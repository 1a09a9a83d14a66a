// Every case of reference/towers.json: over TowerWeighting::kTensorFlow it is what tf.contrib's replicate_model_fn did;
// over kExact, the default, its towers are the file's case of one device.
#include "tests/testing.h"
// testing.h has to come first

#include "tests/support/reference.h"
#include "towers_reference_case.h"

namespace belfry {
namespace {

using testing::Json;

// The same model trained in the same way on one device.
const Json& one_device(const Json& file, const Json& reference) {
  for (const Json& other : file.at("cases")) {
    const auto same = [&](const char* key) { return other.at(key) == reference.at(key); };
    if (other.at("towers") == 1 && same("model") && same("optimizer") && same("model_loss_reduction")) return other;
  }
  FAIL("no case of one device for " << reference.at("id"));
  return reference;
}

void check_model(const std::string& model, testing::ReferenceForward forward) {
  const Json file = testing::reference("towers");
  int cases = 0;
  for (const Json& reference : file.at("cases")) {
    if (reference.at("model") != model) continue;
    ++cases;
    const std::string id = reference.at("id");
    DYNAMIC_SECTION(id) { testing::check_case(file, reference, reference, TowerWeighting::kTensorFlow, forward); }
    if (reference.at("towers") == 1) continue;
    DYNAMIC_SECTION(id << ", weighted exactly, is one device") {
      testing::check_case(file, reference, one_device(file, reference), TowerWeighting::kExact, forward);
    }
  }
  CHECK(cases > 0);
}

TEST_CASE("towers of the softmax model are those of tf.contrib", "[towers][reference][R3][R10][R11][R16][R17][R21]") {
  check_model("softmax", testing::softmax);
}

TEST_CASE("towers of the linear model are those of tf.contrib", "[towers][reference][R3][R10][R11][R16][R17][R21]") {
  check_model("linear", testing::linear);
}

TEST_CASE("towers with row-sparse gradients are those of tf.contrib", "[towers][reference][R3][R10][R11][R21]") {
  check_model("embedding", testing::embedding);
}

TEST_CASE("towers of a DNN are those of tf.contrib", "[towers][reference][R3][R10][R11][R16][R17][R21][R22]") {
  check_model("dnn", testing::dnn);
}

TEST_CASE("towers of a binary DNN are those of tf.contrib", "[towers][reference][R3][R10][R11][R16][R17][R21]") {
  check_model("dnn_binary", testing::dnn_binary);
}

TEST_CASE("towers of the DNN with an embedded category are those of tf.contrib",
          "[towers][reference][R3][R10][R11][R16][R22]") {
  check_model("integration", testing::integration);
}

TEST_CASE("towers: every model of the reference has a test", "[towers][reference]") {
  const std::vector<std::string> tested{"softmax", "linear", "embedding", "dnn", "dnn_binary", "integration"};
  const Json all = testing::reference("towers");
  for (const Json& reference : all.at("cases")) {
    CHECK_THAT(tested, Catch::VectorContains(reference.at("model").get<std::string>()));
  }
}

}  // namespace
}  // namespace belfry
