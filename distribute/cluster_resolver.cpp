#include "distribute/cluster_resolver.h"

#include <cstdlib>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "distribute/internal/digits.h"
#include "distribute/internal/tf_config.h"

namespace belfry {
namespace {

constexpr int kMostWorkers = 1 << 20;  // so that a wrong number takes no memory

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  require(value, name, " is not set: torchrun sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT together; unset RANK ",
          "and WORLD_SIZE for a process on its own");
  return value;
}

int number(const char* name, int least, int most) {
  const std::string text = variable(name);
  const std::optional<int> value = internal::parse_digits(text, most);
  require(value && *value >= least, name, " is '", text, "'; wanted a whole number from ", least, " to ", most);
  return *value;
}

std::string meeting_point() {
  const std::string host = variable("MASTER_ADDR");
  const int port = number("MASTER_PORT", 1, 65535);
  const bool is_bare_ipv6 = host.find(':') != std::string::npos && !host.starts_with('[');
  const std::string address = (is_bare_ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
  try {
    return ClusterSpec({{"worker", {address}}}).task_address("worker", 0);
  } catch (const Error&) {
    fail(ErrorKind::kInvalidArgument, "MASTER_ADDR is '", host, "'; wanted a host name or an IP address, without port");
  }
}

SimpleClusterResolver read_torchrun() {
  const int world_size = number("WORLD_SIZE", 1, kMostWorkers);
  const int rank = number("RANK", 0, world_size - 1);
  std::vector<std::string> workers(static_cast<size_t>(world_size));
  workers[0] = meeting_point();
  return SimpleClusterResolver(ClusterSpec({{"worker", std::move(workers)}}), {.task_type = "worker", .task_id = rank});
}

bool has_torchrun() { return std::getenv("RANK") || std::getenv("WORLD_SIZE"); }

// The task's part in training, for a message.
std::string part_of(const ClusterResolver& config) {
  const std::optional<std::string> type = config.task_type();
  if (!type) return "gives this process no task";
  const std::string task = "makes this process " + *type + " " + std::to_string(*config.task_id());
  if (*type != "chief" && *type != "worker") return task + ", which does not train";
  const ClusterSpec& cluster = config.cluster_spec();
  return concat(task, ", number ", id_in_cluster(cluster, type, config.task_id()), " of ", worker_count(cluster, type));
}

void require_agreement(const ClusterResolver& config, const ClusterResolver& torchrun) {
  const ClusterSpec& cluster = config.cluster_spec();
  const std::optional<std::string> type = config.task_type();
  const int rank = *torchrun.task_id();
  const int world_size = torchrun.cluster_spec().num_tasks("worker");
  const bool agree = (type == "chief" || type == "worker") && worker_count(cluster, type) == world_size &&
                     id_in_cluster(cluster, type, config.task_id()) == rank;
  require(agree, "TF_CONFIG ", part_of(config), ", RANK and WORLD_SIZE make it number ", rank, " of ", world_size,
          ": unset TF_CONFIG, or RANK and WORLD_SIZE");
}

}  // namespace

std::string ClusterResolver::master(const std::optional<std::string>& task_type, std::optional<int> task_id) const {
  const ClusterSpec& cluster = cluster_spec();
  if (!task_type || !task_id) {
    size_t tasks = 0;
    for (const auto& [type, addresses] : cluster.as_dict()) tasks += addresses.size();
    if (tasks < 2) return "";
  }
  const std::optional<std::string> type = task_type ? task_type : this->task_type();
  const std::optional<int> id = task_id ? task_id : this->task_id();
  require(type && id, "the configuration names a cluster but no task: wanted master(TYPE, INDEX)");
  const std::string& address = cluster.task_address(*type, *id);
  const std::optional<std::string> protocol = rpc_layer();
  return protocol ? *protocol + "://" + address : address;
}

SimpleClusterResolver::SimpleClusterResolver(ClusterSpec cluster_spec, SimpleClusterResolverOptions options)
    : cluster_spec_(std::move(cluster_spec)), options_(std::move(options)) {
  const auto& [type, id, environment, rpc_layer] = options_;
  require(!type || is_task_type(*type), "task type '", type.value_or(""),
          "': wanted chief (in old configurations: master), worker, ps or evaluator");
  require(!type || id, "task type '", type.value_or(""), "' without an index");
  require(type || !id, "task index ", id.value_or(0), " without a type");
  require(id.value_or(0) >= 0, "task index ", id.value_or(0), ": wanted 0 or more");
}

TfConfigClusterResolver::TfConfigClusterResolver()
    : TfConfigClusterResolver(std::getenv("TF_CONFIG") ? std::getenv("TF_CONFIG") : "{}") {}

TfConfigClusterResolver::TfConfigClusterResolver(const std::string& json)
    : SimpleClusterResolver(internal::parse_tf_config(json)) {}

TorchrunClusterResolver::TorchrunClusterResolver() : SimpleClusterResolver(read_torchrun()) {
  if (std::getenv("LOCAL_RANK")) local_rank_ = number("LOCAL_RANK", 0, cluster_spec().num_tasks("worker") - 1);
}

std::unique_ptr<ClusterResolver> cluster_resolver_from_environment() {
  auto config = std::make_unique<TfConfigClusterResolver>();
  if (!has_torchrun()) return config;
  auto torchrun = std::make_unique<TorchrunClusterResolver>();
  if (config->cluster_spec().empty()) return torchrun;
  require_agreement(*config, *torchrun);
  return config;
}

}  // namespace belfry
