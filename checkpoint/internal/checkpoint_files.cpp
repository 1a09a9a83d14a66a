#include "checkpoint/internal/checkpoint_files.h"

#include <algorithm>
#include <filesystem>

#include "checkpoint/checkpoint_manager.h"
#include "core/error.h"

namespace belfry {
namespace {

constexpr std::string_view kIndexSuffix = ".index";

std::vector<std::string> list_or_nothing(FileSystem& files, const std::string& directory) {
  try {
    return files.list(directory);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kNotFound) throw;
    return {};
  }
}

// model.ckpt-STEP of model.ckpt-STEP.data-…, or empty.
std::string prefix_of_data(const std::string& name) {
  const size_t data = name.find(".data-");
  if (data == std::string::npos || !name.starts_with(kCheckpointBase)) return "";
  return name.substr(0, data);
}

bool is_temporary(const std::string& name) {
  const bool ours = name.starts_with(kCheckpointBase) || name.starts_with("checkpoint.");
  return ours && name.find(".tmp-") != std::string::npos;
}

}  // namespace

std::vector<std::string> checkpoints_in_folder(FileSystem& files, const std::string& directory) {
  std::vector<std::pair<int64_t, std::string>> found;
  for (const std::string& name : list_or_nothing(files, directory)) {
    if (!name.starts_with(kCheckpointBase) || !name.ends_with(kIndexSuffix)) continue;
    const std::string prefix = name.substr(0, name.size() - kIndexSuffix.size());
    if (const auto step = checkpoint_step(prefix)) found.emplace_back(*step, join_path(directory, prefix));
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> prefixes;
  for (auto& [step, prefix] : found) prefixes.push_back(std::move(prefix));
  return prefixes;
}

std::optional<CheckpointState> read_state_or_nothing(FileSystem& files, const std::string& directory) {
  try {
    return read_checkpoint_state(directory, files);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kDataLoss) throw;
    return std::nullopt;
  }
}

void remove_checkpoint_files(FileSystem& files, const std::string& prefix) {
  files.remove_file(prefix + ".index");
  const std::filesystem::path path(prefix);
  const std::string folder = path.has_parent_path() ? path.parent_path().string() : ".";
  const std::string base = path.filename().string();
  for (const std::string& name : list_or_nothing(files, folder)) {
    if (name.starts_with(base + ".data-") || name == base + ".meta") files.remove_file(join_path(folder, name));
  }
}

void remove_leftover_files(FileSystem& files, const std::string& directory) {
  const std::vector<std::string> names = files.list(directory);
  for (const std::string& name : names) {
    const std::string prefix = prefix_of_data(name);
    const bool orphan = !prefix.empty() && !std::binary_search(names.begin(), names.end(), prefix + ".index");
    if (orphan || is_temporary(name)) files.remove_file(join_path(directory, name));
  }
}

}  // namespace belfry
