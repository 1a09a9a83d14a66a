#include "checkpoint/checkpoint_state.h"

#include "core/error.h"
#include "tests/checkpoint/checkpoint_testing.h"
#include "tests/support/temporary_directory.h"

using namespace belfry;
using namespace belfry::testing;
using Catch::Contains;

namespace {

void write(const std::string& path, std::string_view bytes) { write_file_atomically(posix_file_system(), path, bytes); }

}  // namespace

TEST_CASE("the state is written relative to its folder and read back joined with it", "[checkpoint]") {
  TemporaryDirectory folder;
  CheckpointState state;
  state.model_checkpoint_path = folder.file("model.ckpt-2");
  state.all_model_checkpoint_paths = {"/elsewhere/model.ckpt-1", folder.file("model.ckpt-2")};
  state.all_model_checkpoint_timestamps = {10.5, 20.25};
  state.last_preserved_timestamp = 10.5;
  write_checkpoint_state(folder.path(), state);
  CHECK(read_file(posix_file_system(), folder.file("checkpoint")) ==
        "model_checkpoint_path: \"model.ckpt-2\"\n"
        "all_model_checkpoint_paths: \"/elsewhere/model.ckpt-1\"\n"
        "all_model_checkpoint_paths: \"model.ckpt-2\"\n"
        "all_model_checkpoint_timestamps: 10.5\n"
        "all_model_checkpoint_timestamps: 20.25\n"
        "last_preserved_timestamp: 10.5\n");
  const auto read = read_checkpoint_state(folder.path());
  REQUIRE(read);
  CHECK(read->model_checkpoint_path == state.model_checkpoint_path);
  CHECK(read->all_model_checkpoint_paths == state.all_model_checkpoint_paths);
  CHECK(read->all_model_checkpoint_timestamps == state.all_model_checkpoint_timestamps);
  CHECK(read->last_preserved_timestamp == 10.5);
}

TEST_CASE("a folder without a state has none", "[checkpoint]") {
  TemporaryDirectory folder;
  CHECK_FALSE(read_checkpoint_state(folder.path()));
  CHECK_FALSE(read_checkpoint_state(folder.file("none")));
}

TEST_CASE("a state that cannot be understood is told with path and line", "[checkpoint]") {
  TemporaryDirectory folder;
  write(folder.file("checkpoint"), "model_checkpoint_path: \"model.ckpt-2\"\nall_model_checkp");
  CHECK_THROWS_WITH(read_checkpoint_state(folder.path()), Contains(folder.file("checkpoint")) && Contains("line 2"));
  CHECK(kind_of([&] { read_checkpoint_state(folder.path()); }) == ErrorKind::kDataLoss);
  write(folder.file("checkpoint"), "");
  CHECK_THROWS_WITH(read_checkpoint_state(folder.path()), Contains("names no checkpoint"));
}

TEST_CASE("fields of a later TensorFlow are passed over", "[checkpoint]") {
  TemporaryDirectory folder;
  write(folder.file("checkpoint"), "model_checkpoint_path: \"m\"\nsome_new_field: 3\n");
  CHECK(read_checkpoint_state(folder.path())->model_checkpoint_path == folder.file("m"));
}

TEST_CASE("absolute paths of a folder that was moved are found in it", "[checkpoint]") {
  TemporaryDirectory folder;
  write(folder.file("checkpoint"),
        "model_checkpoint_path: \"/old/run/model.ckpt-2\"\nall_model_checkpoint_paths: \"/old/run/model.ckpt-1\"\n");
  write(folder.file("model.ckpt-2.index"), "");
  const auto state = read_checkpoint_state(folder.path());
  CHECK(state->model_checkpoint_path == folder.file("model.ckpt-2"));
  CHECK(state->all_model_checkpoint_paths == std::vector<std::string>{"/old/run/model.ckpt-1"});
}
