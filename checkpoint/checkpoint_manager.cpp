#include "checkpoint/checkpoint_manager.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <set>
#include <string_view>

#include "checkpoint/checkpoint_reader.h"
#include "checkpoint/checkpoint_writer.h"
#include "checkpoint/internal/checkpoint_files.h"
#include "core/error.h"

namespace belfry {
namespace {

constexpr double kSecondsPerHour = 3600;

int64_t step_or_minus_one(const std::string& prefix) { return checkpoint_step(prefix).value_or(-1); }

bool contains(const std::vector<std::string>& paths, const std::string& path) {
  return std::find(paths.begin(), paths.end(), path) != paths.end();
}

void erase_path(CheckpointState& state, size_t i) {
  const auto at = static_cast<std::ptrdiff_t>(i);
  state.all_model_checkpoint_paths.erase(state.all_model_checkpoint_paths.begin() + at);
  state.all_model_checkpoint_timestamps.erase(state.all_model_checkpoint_timestamps.begin() + at);
}

void append_path(CheckpointState& state, const std::string& path, double timestamp) {
  state.all_model_checkpoint_paths.push_back(path);
  state.all_model_checkpoint_timestamps.push_back(timestamp);
}

}  // namespace

std::optional<int64_t> checkpoint_step(const std::string& prefix) {
  const size_t dash = prefix.rfind('-');
  if (dash == std::string::npos || dash + 1 == prefix.size()) return std::nullopt;
  int64_t step = 0;
  const char* end = prefix.data() + prefix.size();
  const auto [parsed, error] = std::from_chars(prefix.data() + dash + 1, end, step);
  if (error != std::errc() || parsed != end || step < 0) return std::nullopt;
  return step;
}

CheckpointManager::CheckpointManager(std::string directory, CheckpointManagerOptions options, FileSystem& files)
    : directory_(std::move(directory)), options_(std::move(options)), files_(files) {
  require(!directory_.empty(), "CheckpointManager: the directory has no name");
  require(options_.keep_checkpoint_max >= 0, "keep_checkpoint_max is ", options_.keep_checkpoint_max,
          "; it has to be 0, which keeps all, or more");
  require(options_.keep_checkpoint_every_n_hours > 0, "keep_checkpoint_every_n_hours is ",
          options_.keep_checkpoint_every_n_hours, "; it has to be more than 0");
}

double CheckpointManager::now() const {
  if (options_.clock) return options_.clock();
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string CheckpointManager::save(int64_t step, const CheckpointEntries& entries) {
  require(step >= 0, "a checkpoint of step ", step, " was asked for");
  files_.make_directories(directory_);
  remove_leftover_files(files_, directory_);
  const std::string prefix = join_path(directory_, concat(kCheckpointBase, step));
  CheckpointState state = current_state();
  {
    CheckpointWriter writer(prefix, files_);
    for (const CheckpointEntry& entry : entries) writer.add(entry.name, entry.value);
    writer.finish();
  }
  for (size_t i = state.all_model_checkpoint_paths.size(); i-- > 0;) {
    if (state.all_model_checkpoint_paths[i] == prefix) erase_path(state, i);
  }
  append_path(state, prefix, now());
  state.model_checkpoint_path = prefix;
  for (std::string& old : retire(state)) to_remove_.push_back(std::move(old));
  std::erase(to_remove_, prefix);
  write_checkpoint_state(directory_, state, files_);
  for (; !to_remove_.empty(); to_remove_.pop_back()) remove_checkpoint_files(files_, to_remove_.back());
  return prefix;
}

// What the file `checkpoint` says and the folder bears out, with a timestamp for each. Checkpoints that are newer than
// all of these were completed by a save that was killed before it wrote them there: they come last.
CheckpointState CheckpointManager::current_state() const {
  CheckpointState state;
  const std::vector<std::string> found = checkpoints_in_folder(files_, directory_);
  const std::vector<std::string> listed = all();
  double last_timestamp = 0;
  if (const auto read = read_state_or_nothing(files_, directory_)) {
    state.last_preserved_timestamp = read->last_preserved_timestamp;
    const auto& paths = read->all_model_checkpoint_paths;
    for (size_t i = 0; i < std::min(paths.size(), read->all_model_checkpoint_timestamps.size()); ++i) {
      if (!contains(listed, paths[i])) continue;
      last_timestamp = read->all_model_checkpoint_timestamps[i];
      append_path(state, paths[i], last_timestamp);
    }
  }
  if (last_timestamp == 0) last_timestamp = now();
  for (const std::string& path : listed) {
    if (!contains(state.all_model_checkpoint_paths, path)) append_path(state, path, last_timestamp);
  }
  int64_t newest = -1;
  for (const std::string& path : listed) newest = std::max(newest, step_or_minus_one(path));
  for (const std::string& path : found) {
    if (step_or_minus_one(path) > newest) append_path(state, path, last_timestamp);
  }
  return state;
}

// Takes the oldest out of the state until keep_checkpoint_max are left, and gives back those to be removed.
std::vector<std::string> CheckpointManager::retire(CheckpointState& state) const {
  std::vector<std::string> old;
  if (options_.keep_checkpoint_max == 0) return old;
  const double interval = options_.keep_checkpoint_every_n_hours * kSecondsPerHour;
  if (state.last_preserved_timestamp == 0) {
    state.last_preserved_timestamp = state.all_model_checkpoint_timestamps.front();
  }
  while (state.all_model_checkpoint_paths.size() > static_cast<size_t>(options_.keep_checkpoint_max)) {
    const double timestamp = state.all_model_checkpoint_timestamps.front();
    if (timestamp - state.last_preserved_timestamp >= interval) {
      state.last_preserved_timestamp = timestamp;
    } else {
      old.push_back(state.all_model_checkpoint_paths.front());
    }
    erase_path(state, 0);
  }
  return old;
}

std::vector<std::string> CheckpointManager::all() const {
  const std::optional<CheckpointState> state = read_state_or_nothing(files_, directory_);
  if (!state) return checkpoints_in_folder(files_, directory_);
  std::vector<std::string> paths;
  for (const std::string& path : state->all_model_checkpoint_paths) {
    if (!contains(paths, path) && files_.exists(path + ".index")) paths.push_back(path);
  }
  const std::string& newest = state->model_checkpoint_path;
  if (!contains(paths, newest) && files_.exists(newest + ".index")) paths.push_back(newest);
  return paths;
}

// All that there may be, the one to take first.
std::vector<std::string> CheckpointManager::candidates(std::vector<SkippedCheckpoint>& skipped) const {
  std::vector<std::string> prefixes;
  try {
    if (const auto state = read_checkpoint_state(directory_, files_)) {
      prefixes.push_back(state->model_checkpoint_path);
      prefixes.insert(prefixes.end(), state->all_model_checkpoint_paths.rbegin(),
                      state->all_model_checkpoint_paths.rend());
    }
  } catch (const Error& error) {
    skipped.push_back({join_path(directory_, "checkpoint"), error.what()});
  }
  const std::vector<std::string> found = checkpoints_in_folder(files_, directory_);
  prefixes.insert(prefixes.end(), found.rbegin(), found.rend());
  return prefixes;
}

LatestCheckpoint CheckpointManager::latest(bool verify_checksums) const {
  LatestCheckpoint latest;
  std::vector<std::string> prefixes = candidates(latest.skipped);
  std::set<std::string> tried;
  for (size_t i = 0; i < prefixes.size(); ++i) {
    if (!tried.insert(prefixes[i]).second) continue;
    try {
      const CheckpointReader reader(prefixes[i], files_);
      if (verify_checksums) reader.verify();
      latest.prefix = prefixes[i];
      break;
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kIo) throw;  // trouble of the machine: the checkpoint may be good
      LatestCheckpoint again;
      std::vector<std::string> now = candidates(again.skipped);
      if (now == prefixes) {
        latest.skipped.push_back({prefixes[i], error.what()});
        continue;
      }
      // A training in another process has saved meanwhile, and may have removed what was just being read.
      latest = std::move(again);
      prefixes = std::move(now);
      tried.clear();
      i = static_cast<size_t>(-1);
    }
  }
  return latest;
}

}  // namespace belfry
