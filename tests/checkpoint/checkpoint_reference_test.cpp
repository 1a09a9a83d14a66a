// Model directories that tf.estimator wrote.
#include "checkpoint/checkpoint_manager.h"
#include "tests/checkpoint/checkpoint_testing.h"
#include "tests/checkpoint/json_values.h"
#include "tests/support/reference_folder.h"
#include "tests/support/temporary_directory.h"

using namespace belfry;
using namespace belfry::testing;

namespace {

// Calls `visit` with the folder and the JSON of each.
template <class Visit>
void for_each_model(const Visit& visit) {
  int64_t models = 0;
  for (const std::string& name : posix_file_system().list(tf_checkpoints_folder())) {
    if (!name.ends_with(".json")) continue;
    const std::string path = join_path(tf_checkpoints_folder(), name);
    INFO(path);
    visit(path.substr(0, path.size() - 5), read_json(path));
    ++models;
  }
  CHECK(models > 0);
}

}  // namespace

TEST_CASE("a model directory of tf.estimator has its names, shapes and step", "[checkpoint][E14][E15]") {
  for_each_model([](const std::string& folder, const Json& json) {
    const LatestCheckpoint latest = CheckpointManager(folder).latest();
    REQUIRE(latest.prefix);
    CHECK(latest.skipped.empty());
    const CheckpointReader reader(*latest.prefix);
    const int64_t steps = json["steps"].get<int64_t>();
    CHECK(checkpoint_step(*latest.prefix) == steps);
    CHECK(reader.tensor("global_step").item<int64_t>() == steps);
    CHECK(reader.variables().size() == json["variables"].size());
    for (const auto& [name, shape] : json["variables"].items()) {
      INFO(name);
      REQUIRE(reader.contains(name));
      CHECK(reader.find(name)->shape == shape.get<std::vector<int64_t>>());
      CHECK(reader.tensor(name).sizes().vec() == shape.get<std::vector<int64_t>>());
    }
  });
}

TEST_CASE("saving goes on in a model directory of tf.estimator", "[checkpoint][E4]") {
  for_each_model([](const std::string& folder, const Json& json) {
    TemporaryDirectory copy;
    for (const std::string& name : posix_file_system().list(folder)) {
      write_file_atomically(posix_file_system(), copy.file(name),
                            read_file(posix_file_system(), join_path(folder, name)));
    }
    CheckpointManager manager(copy.path());
    const int64_t steps = json["steps"].get<int64_t>();
    const std::string first = *manager.latest().prefix;
    const std::string saved = manager.save(steps + 1, sample_entries(1));
    CHECK(manager.latest().prefix == saved);
    CHECK(manager.all() == std::vector<std::string>{first, saved});
    CHECK(CheckpointReader(first).variables().size() == json["variables"].size());
  });
}
