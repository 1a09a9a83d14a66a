#include "distribute/cluster_spec.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "distribute/internal/digits.h"

namespace belfry {
namespace {

constexpr const char* kWantedType = "wanted chief (in old configurations: master), worker, ps or evaluator";
constexpr int kLargestPort = 65535;

bool is_host(std::string_view host) {
  const auto in_host = [](unsigned char c) { return c > ' ' && c != '/' && c != '[' && c != ']' && c != 0x7f; };
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  return !host.empty() && std::all_of(host.begin(), host.end(), in_host) &&
         (host.find(':') != std::string_view::npos) == bracketed;
}

bool is_address(std::string_view address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string_view::npos || !is_host(address.substr(0, colon))) return false;
  return internal::parse_digits(address.substr(colon + 1), kLargestPort).value_or(0) > 0;
}

int count(const ClusterSpec& cluster, const std::string& task_type) {
  const auto found = cluster.as_dict().find(task_type);
  return found == cluster.as_dict().end() ? 0 : static_cast<int>(found->second.size());
}

std::string listed(const ClusterSpec& cluster) {
  std::string all;
  for (const std::string& type : cluster.jobs()) all += (all.empty() ? "" : ", ") + type;
  return all.empty() ? "none" : all;
}

void check_index(const ClusterSpec& cluster, const std::string& task_type, int task_id) {
  const int tasks = cluster.num_tasks(task_type);
  require(task_id >= 0 && task_id < tasks, "task ", task_type, " ", task_id, ": the cluster has ", tasks, " of type ",
          task_type, ", numbered from 0");
}

void check_type(const ClusterSpec& cluster, const std::string& task_type) {
  require(is_task_type(task_type), "task type '", task_type, "': ", kWantedType);
  if (task_type != "evaluator") cluster.num_tasks(task_type);
}

void check_task(const ClusterSpec& cluster, const std::optional<std::string>& task_type, std::optional<int> task_id) {
  if (!task_type) return;
  check_type(cluster, *task_type);
  require(task_id.has_value(), "task type '", *task_type, "' without an index");
  if (*task_type != "evaluator" || count(cluster, *task_type) > 0) check_index(cluster, *task_type, *task_id);
}

[[noreturn]] void refuse_number(const std::optional<std::string>& task_type, const char* what) {
  fail(ErrorKind::kInvalidArgument, task_type ? "task type '" + *task_type + "'" : "a process without a task type",
       " has no ", what, ": wanted chief, worker or evaluator");
}

}  // namespace

bool is_task_type(const std::string& name) {
  return name == "chief" || name == "worker" || name == "ps" || name == "evaluator";
}

ClusterSpec::ClusterSpec(Tasks tasks) : tasks_(std::move(tasks)) {
  std::map<std::string, std::string> owners;
  for (const auto& [type, addresses] : tasks_) {
    require(is_task_type(type), "cluster: task type '", type, "': ", kWantedType);
    require(addresses.size() < 2 || type == "worker" || type == "ps", "cluster: ", addresses.size(), " tasks of type ",
            type, "; wanted one at most");
    for (size_t i = 0; i < addresses.size(); ++i) {
      if (addresses[i].empty()) continue;
      const std::string task = type + " " + std::to_string(i);
      require(is_address(addresses[i]), "cluster: address '", addresses[i], "' of ", task,
              ": wanted HOST:PORT, the port from 1 to ", kLargestPort, ", an IPv6 host in brackets");
      const auto [owner, is_new] = owners.emplace(addresses[i], task);
      require(is_new, "cluster: address '", addresses[i], "' is that of both ", owner->second, " and ", task);
    }
  }
}

bool ClusterSpec::empty() const {
  return std::all_of(tasks_.begin(), tasks_.end(), [](const auto& job) { return job.second.empty(); });
}

std::vector<std::string> ClusterSpec::jobs() const {
  std::vector<std::string> types;
  for (const auto& [type, addresses] : tasks_) types.push_back(type);
  return types;
}

int ClusterSpec::num_tasks(const std::string& task_type) const {
  require(tasks_.contains(task_type), "task type '", task_type, "' is not in the cluster, which has ", listed(*this));
  return count(*this, task_type);
}

const std::string& ClusterSpec::task_address(const std::string& task_type, int task_id) const {
  check_index(*this, task_type, task_id);
  const std::string& address = tasks_.at(task_type)[static_cast<size_t>(task_id)];
  require(!address.empty(), "task ", task_type, " ", task_id, ": its address is not known here");
  return address;
}

bool is_chief(const ClusterSpec& cluster, const std::optional<std::string>& task_type, std::optional<int> task_id) {
  check_task(cluster, task_type, task_id);
  if (!task_type) return false;
  if (*task_type == "chief" || *task_type == "evaluator") return true;
  return *task_type == "worker" && *task_id == 0 && count(cluster, "chief") == 0;
}

std::string collective_leader(const ClusterSpec& cluster, const std::optional<std::string>& task_type,
                              std::optional<int> task_id) {
  if (cluster.empty()) return "";
  check_task(cluster, task_type, task_id);
  if (task_type == "evaluator") return "";
  if (count(cluster, "chief") > 0) return "/job:chief/replica:0/task:0";
  require(count(cluster, "worker") > 0, "a cluster of ", listed(cluster), " has neither chief nor worker to lead it");
  return "/job:worker/replica:0/task:0";
}

int id_in_cluster(const ClusterSpec& cluster, const std::optional<std::string>& task_type, std::optional<int> task_id) {
  check_task(cluster, task_type, task_id);
  if (!task_type || *task_type == "ps") refuse_number(task_type, "number in the cluster");
  return *task_type == "worker" ? count(cluster, "chief") + *task_id : *task_id;
}

int worker_count(const ClusterSpec& cluster, const std::optional<std::string>& task_type) {
  if (!task_type || *task_type == "ps") refuse_number(task_type, "count of workers");
  check_type(cluster, *task_type);
  if (*task_type == "evaluator") return cluster.num_tasks(*task_type);
  return count(cluster, "chief") + count(cluster, "worker");
}

}  // namespace belfry
