// Where a process learns which cluster it is part of, and as which task.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cluster_spec.h"

namespace belfry {

// What is known does not change during the resolver's life, so threads may ask one together.
class ClusterResolver {
 public:
  virtual ~ClusterResolver() = default;

  // Empty for a process on its own.
  virtual const ClusterSpec& cluster_spec() const = 0;
  // This process's task; both or neither. An "evaluator" need not be in the cluster.
  virtual std::optional<std::string> task_type() const = 0;
  virtual std::optional<int> task_id() const = 0;
  // What the configuration says of its surroundings ("cloud") and of the protocol between tasks ("grpc"); Belfry itself
  // makes no use of either.
  virtual std::optional<std::string> environment() const = 0;
  virtual std::optional<std::string> rpc_layer() const = 0;

  // The address of a task, by default this process's, with "rpc_layer://" before it where there is one. Empty, when not
  // asked for both a type and an index, in a cluster of one task or none: nobody is there to be spoken with, as
  // TensorFlow has it. kInvalidArgument as of ClusterSpec::task_address(), and when the task is not known.
  virtual std::string master(const std::optional<std::string>& task_type = {}, std::optional<int> task_id = {}) const;
};

struct SimpleClusterResolverOptions {
  std::optional<std::string> task_type = {};
  std::optional<int> task_id = {};
  std::optional<std::string> environment = {};
  std::optional<std::string> rpc_layer = {};
};

// Says what it was given. kInvalidArgument for a type that is no task type, one without an index or the reverse, and an
// index below 0; whether the cluster has the task is asked only where its address is.
class SimpleClusterResolver : public ClusterResolver {
 public:
  explicit SimpleClusterResolver(ClusterSpec cluster_spec, SimpleClusterResolverOptions options = {});

  const ClusterSpec& cluster_spec() const override { return cluster_spec_; }
  std::optional<std::string> task_type() const override { return options_.task_type; }
  std::optional<int> task_id() const override { return options_.task_id; }
  std::optional<std::string> environment() const override { return options_.environment; }
  std::optional<std::string> rpc_layer() const override { return options_.rpc_layer; }

 private:
  ClusterSpec cluster_spec_;
  SimpleClusterResolverOptions options_;
};

// Reads JSON of this form, in which each part may be missing or null and others are passed over:
//   {"cluster": {"chief": ["host0:2222"], "worker": ["host1:2222", "host2:2222"]},
//    "task": {"type": "worker", "index": 1}, "environment": "cloud", "rpc_layer": "grpc"}
// The index may be a text of digits. kInvalidArgument, naming TF_CONFIG, the place and the value, for text that is no
// such JSON (an empty one too), a key given twice, and what ClusterSpec and SimpleClusterResolver refuse.
class TfConfigClusterResolver : public SimpleClusterResolver {
 public:
  // From the environment variable TF_CONFIG, read here and not again; not set: an empty cluster. No other thread may
  // change the environment meanwhile.
  TfConfigClusterResolver();
  explicit TfConfigClusterResolver(const std::string& json);
};

// Reads what torchrun sets: RANK and WORLD_SIZE make this process worker RANK of WORLD_SIZE workers, and MASTER_ADDR
// and MASTER_PORT are the address of worker 0, where all meet; those of the others are not known. LOCAL_RANK may be
// missing. All are read here and not again; no other thread may change the environment meanwhile. kInvalidArgument,
// with variable and value, for one that is missing, is no number or is out of its range.
class TorchrunClusterResolver : public SimpleClusterResolver {
 public:
  TorchrunClusterResolver();

  // This worker's number on its machine, as for choosing a GPU.
  std::optional<int> local_rank() const { return local_rank_; }

 private:
  std::optional<int> local_rank_;
};

// TF_CONFIG's, where that names a cluster; else torchrun's, where RANK or WORLD_SIZE is set; else TF_CONFIG's, which is
// empty. kInvalidArgument for what those refuse, and when both tell of a cluster and differ in this task's number or in
// the number of workers.
std::unique_ptr<ClusterResolver> cluster_resolver_from_environment();

}  // namespace belfry
