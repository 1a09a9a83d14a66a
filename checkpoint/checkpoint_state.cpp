#include "checkpoint/checkpoint_state.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <filesystem>

#include "belfry/core/checkpoint_state.pb.h"
#include "core/error.h"

namespace belfry {
namespace {

constexpr const char* kStateFile = "checkpoint";

class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int, const std::string& message) override {
    if (text.empty()) text = concat("line ", line + 1, ": ", message);
  }

  std::string text;
};

std::string index_of(const std::string& prefix) { return prefix + ".index"; }

// The path below the folder, or nothing.
std::optional<std::string> path_inside(const std::string& directory, const std::string& path) {
  const auto folder = std::filesystem::absolute(directory).lexically_normal();
  const auto relative = std::filesystem::absolute(path).lexically_normal().lexically_relative(folder);
  if (relative.empty() || *relative.begin() == "..") return std::nullopt;
  return relative.string();
}

std::string relative_path(const std::string& directory, const std::string& path) {
  return path_inside(directory, path).value_or(path);
}

std::string resolved_path(const std::string& directory, const std::string& path, FileSystem& files) {
  const std::string joined = join_path(directory, path);
  if (path.empty() || path.front() != '/') return joined;
  if (const auto inside = path_inside(directory, path)) return join_path(directory, *inside);
  const std::string moved = join_path(directory, std::filesystem::path(path).filename().string());
  return !files.exists(index_of(path)) && files.exists(index_of(moved)) ? moved : joined;
}

proto::CheckpointState parse(const std::string& path, const std::string& text) {
  proto::CheckpointState message;
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.AllowUnknownField(true);
  parser.RecordErrorsTo(&error);
  if (!parser.ParseFromString(text, &message)) {
    fail(ErrorKind::kDataLoss, "'", path, "' cannot be understood: ", error.text);
  }
  if (message.model_checkpoint_path().empty()) {
    fail(ErrorKind::kDataLoss, "'", path, "' names no checkpoint: it has no model_checkpoint_path");
  }
  return message;
}

}  // namespace

std::optional<CheckpointState> read_checkpoint_state(const std::string& directory, FileSystem& files) {
  const std::string path = join_path(directory, kStateFile);
  if (!files.exists(path)) return std::nullopt;
  const proto::CheckpointState message = parse(path, read_file(files, path));
  CheckpointState state;
  state.model_checkpoint_path = resolved_path(directory, message.model_checkpoint_path(), files);
  for (const std::string& one : message.all_model_checkpoint_paths()) {
    state.all_model_checkpoint_paths.push_back(resolved_path(directory, one, files));
  }
  const auto& timestamps = message.all_model_checkpoint_timestamps();
  state.all_model_checkpoint_timestamps.assign(timestamps.begin(), timestamps.end());
  state.last_preserved_timestamp = message.last_preserved_timestamp();
  return state;
}

void write_checkpoint_state(const std::string& directory, const CheckpointState& state, FileSystem& files) {
  proto::CheckpointState message;
  message.set_model_checkpoint_path(relative_path(directory, state.model_checkpoint_path));
  for (const std::string& path : state.all_model_checkpoint_paths) {
    message.add_all_model_checkpoint_paths(relative_path(directory, path));
  }
  for (const double timestamp : state.all_model_checkpoint_timestamps) {
    message.add_all_model_checkpoint_timestamps(timestamp);
  }
  message.set_last_preserved_timestamp(state.last_preserved_timestamp);
  std::string text;
  if (!google::protobuf::TextFormat::PrintToString(message, &text)) {
    fail(ErrorKind::kInternal, "the state of '", directory, "' cannot be written as text");
  }
  write_file_atomically(files, join_path(directory, kStateFile), text);
}

}  // namespace belfry
