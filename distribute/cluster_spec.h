// The tasks of a job that runs as several processes, and who does what among them.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace belfry {

// Whether it is one of "chief", "worker", "ps", "evaluator". The chief is a worker that also writes checkpoints; a
// cluster without one has worker 0 for it. An evaluator stands beside the cluster and need not be in it.
bool is_task_type(const std::string& name);

// Task types and the addresses of their tasks, by index; TensorFlow's tf.train.ClusterSpec. A value: copies share
// nothing, and threads may read one together.
class ClusterSpec {
 public:
  using Tasks = std::map<std::string, std::vector<std::string>>;

  // Nobody: a process on its own.
  ClusterSpec() = default;
  // An address is HOST:PORT, with an IPv6 host in brackets, or empty: there is such a task, but its address is not
  // known here. kInvalidArgument, with the task and the value, for another task type, a second chief or evaluator, an
  // address of another form, and one address of two tasks. Whether hosts exist is not looked up.
  explicit ClusterSpec(Tasks tasks);
  // The same written out: {{"chief", {"host0:2222"}}, {"worker", {"host1:2222", "host2:2222"}}}.
  ClusterSpec(std::initializer_list<Tasks::value_type> tasks) : ClusterSpec(Tasks(tasks)) {}

  // True when there is no task of any type.
  bool empty() const;
  // Task types, in alphabetical order.
  std::vector<std::string> jobs() const;
  // kInvalidArgument, with those that there are, for a type that is not in the cluster.
  int num_tasks(const std::string& task_type) const;
  // Valid as long as the cluster. kInvalidArgument for a type or index that is not in it (with the number of tasks that
  // are), and where the address is not known.
  const std::string& task_address(const std::string& task_type, int task_id) const;

  const Tasks& as_dict() const { return tasks_; }
  friend bool operator==(const ClusterSpec&, const ClusterSpec&) = default;

 private:
  Tasks tasks_;
};

// Four questions about one task, answered as tf.distribute's multi_worker_util does. All fail with kInvalidArgument for
// a type that is no task type or, "evaluator" apart, not in the cluster; the first three also for an index that the
// type has not, or none.

// Who writes checkpoints and summaries: the chief, or worker 0 where there is none; an evaluator, of its own. False
// without a type, also where the cluster is empty: ask ClusterSpec::empty() first.
bool is_chief(const ClusterSpec& cluster, const std::optional<std::string>& task_type, std::optional<int> task_id);

// The name of the task that leads collectives, "/job:chief/replica:0/task:0" or "/job:worker/replica:0/task:0"; empty
// for an evaluator and in an empty cluster. kInvalidArgument in a cluster with neither chief nor worker.
std::string collective_leader(const ClusterSpec& cluster, const std::optional<std::string>& task_type,
                              std::optional<int> task_id);

// The task's number among those that train: the chief is 0 and workers follow it. An evaluator's index is its number.
// kInvalidArgument for "ps" and without a type.
int id_in_cluster(const ClusterSpec& cluster, const std::optional<std::string>& task_type, std::optional<int> task_id);

// How many train together, chief included; for an evaluator, how many evaluators the cluster has. kInvalidArgument for
// "ps", without a type, and for an evaluator that is not in the cluster.
int worker_count(const ClusterSpec& cluster, const std::optional<std::string>& task_type);

}  // namespace belfry
