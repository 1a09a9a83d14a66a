#include "distribute/cluster_spec.h"

#include "tests/support/check_fails.h"
#include "tests/testing.h"

namespace belfry {
namespace {

constexpr ErrorKind kInvalid = ErrorKind::kInvalidArgument;

ClusterSpec two_workers() { return ClusterSpec({{"worker", {"a:1", "b:2"}}}); }

ClusterSpec everybody() {
  return ClusterSpec({{"worker", {"a:1", "b:2"}}, {"chief", {"h:1"}}, {"ps", {"c:3"}}, {"evaluator", {"e:1"}}});
}

TEST_CASE("a cluster lists its task types by name, and counts and finds its tasks", "[cluster][S3]") {
  const ClusterSpec cluster = everybody();
  CHECK(cluster.jobs() == std::vector<std::string>{"chief", "evaluator", "ps", "worker"});
  CHECK(cluster.num_tasks("worker") == 2);
  CHECK(cluster.num_tasks("ps") == 1);
  CHECK(cluster.task_address("worker", 1) == "b:2");
  CHECK(cluster.task_address("chief", 0) == "h:1");
  CHECK_FALSE(cluster.empty());
  CHECK(cluster == everybody());
  CHECK_FALSE(cluster == two_workers());
}

TEST_CASE("a cluster without a task is empty", "[cluster][S3]") {
  CHECK(ClusterSpec().empty());
  CHECK(ClusterSpec().jobs().empty());
  const ClusterSpec no_workers({{"worker", {}}});
  CHECK(no_workers.empty());
  CHECK(no_workers.num_tasks("worker") == 0);
}

TEST_CASE("a task that is not in the cluster is refused with what is", "[cluster][S3]") {
  CHECK_FAILS(two_workers().num_tasks("ps"), kInvalid, "task type 'ps' is not in the cluster, which has worker");
  CHECK_FAILS(ClusterSpec().num_tasks("worker"), kInvalid, "which has none");
  CHECK_FAILS(two_workers().task_address("chief", 0), kInvalid, "'chief'");
  CHECK_FAILS(two_workers().task_address("worker", 2), kInvalid, "task worker 2: the cluster has 2 of type worker");
  CHECK_FAILS(two_workers().task_address("worker", -1), kInvalid, "task worker -1: the cluster has 2");
}

TEST_CASE("a task whose address is not known counts, but its address cannot be had", "[cluster][S3]") {
  const ClusterSpec cluster({{"worker", {"a:1", "", ""}}});
  CHECK(cluster.num_tasks("worker") == 3);
  CHECK(worker_count(cluster, "worker") == 3);
  CHECK(cluster.task_address("worker", 0) == "a:1");
  CHECK_FAILS(cluster.task_address("worker", 2), kInvalid, "task worker 2: its address is not known");
}

TEST_CASE("task types are chief, worker, ps and evaluator", "[cluster][S4]") {
  for (const char* type : {"chief", "worker", "ps", "evaluator"}) {
    CHECK(is_task_type(type));
    CHECK(ClusterSpec({{type, {"a:1"}}}).num_tasks(type) == 1);
  }
  for (const char* type : {"boss", "master", "Worker", "workers", ""}) {
    CHECK_FALSE(is_task_type(type));
    CHECK_FAILS(ClusterSpec({{type, {"a:1"}}}), kInvalid,
                "task type '" + std::string(type) + "': wanted chief (in old configurations: master), worker, ps");
  }
}

TEST_CASE("there is one chief and one evaluator at most", "[cluster][S3]") {
  CHECK_FAILS(ClusterSpec({{"chief", {"a:1", "b:1"}}}), kInvalid, "2 tasks of type chief; wanted one at most");
  CHECK_FAILS(ClusterSpec({{"evaluator", {"a:1", "b:1", "c:1"}}}), kInvalid, "3 tasks of type evaluator");
}

TEST_CASE("addresses are a host and a port", "[cluster][S3]") {
  for (const char* good : {"a:1", "10.0.0.1:65535", "host-1.example.org:2222", "[::1]:80", "[fe80::1%eth0]:80"}) {
    CHECK(ClusterSpec({{"worker", {good}}}).task_address("worker", 0) == good);
  }
  for (const char* bad : {"a",          ":1",      "a:",      "a:0",   "a:65536", "a:99999999999999999999",
                          "a:-1",       "a:+1",    "a:1x",    "a:1 ",  " a:1",    "a b:1",
                          "a\n:1",      "::1:80",  "a:b:1",   "[::1]", "[]:1",    "[host]:1",
                          "grpc://a:1", "[::1:80", "http://a"}) {
    INFO("address " << bad);
    CHECK_FAILS(ClusterSpec({{"worker", {"z:9", bad}}}), kInvalid,
                "address '" + std::string(bad) + "' of worker 1: wanted HOST:PORT");
  }
}

TEST_CASE("two tasks cannot have one address", "[cluster][S3]") {
  CHECK_FAILS(ClusterSpec({{"worker", {"a:1", "b:1", "a:1"}}}), kInvalid,
              "address 'a:1' is that of both worker 0 and worker 2");
  CHECK_FAILS(ClusterSpec({{"worker", {"a:1"}}, {"ps", {"a:1"}}}), kInvalid, "of both ps 0 and worker 0");
  CHECK_NOTHROW(ClusterSpec({{"worker", {"a:1", "a:2"}}}));
}

TEST_CASE("the chief is a chief, and so is worker 0 without one, and an evaluator of its own", "[cluster][S4]") {
  CHECK(is_chief(everybody(), "chief", 0));
  CHECK_FALSE(is_chief(everybody(), "worker", 0));
  CHECK_FALSE(is_chief(everybody(), "ps", 0));
  CHECK(is_chief(two_workers(), "worker", 0));
  CHECK_FALSE(is_chief(two_workers(), "worker", 1));
  CHECK(is_chief(everybody(), "evaluator", 0));
  CHECK(is_chief(two_workers(), "evaluator", 0));
  CHECK_FALSE(is_chief(two_workers(), std::nullopt, std::nullopt));
  CHECK(is_chief(ClusterSpec({{"chief", {}}, {"worker", {"a:1"}}}), "worker", 0));
}

TEST_CASE("collectives are led by the chief, or by worker 0", "[cluster][S4]") {
  CHECK(collective_leader(everybody(), "worker", 1) == "/job:chief/replica:0/task:0");
  CHECK(collective_leader(two_workers(), "worker", 1) == "/job:worker/replica:0/task:0");
  CHECK(collective_leader(everybody(), "evaluator", 0).empty());
  CHECK(collective_leader(two_workers(), "evaluator", 0).empty());
  CHECK(collective_leader(ClusterSpec(), std::nullopt, std::nullopt).empty());
  CHECK_FAILS(collective_leader(ClusterSpec({{"ps", {"c:3"}}}), "ps", 0), kInvalid,
              "a cluster of ps has neither chief");
}

TEST_CASE("workers are numbered after the chief", "[cluster][S4]") {
  CHECK(id_in_cluster(everybody(), "chief", 0) == 0);
  CHECK(id_in_cluster(everybody(), "worker", 0) == 1);
  CHECK(id_in_cluster(everybody(), "worker", 1) == 2);
  CHECK(id_in_cluster(two_workers(), "worker", 1) == 1);
  CHECK(id_in_cluster(two_workers(), "evaluator", 0) == 0);
  CHECK_FAILS(id_in_cluster(everybody(), "ps", 0), kInvalid, "task type 'ps' has no number in the cluster");
  CHECK_FAILS(id_in_cluster(everybody(), std::nullopt, std::nullopt), kInvalid, "a process without a task type");
}

TEST_CASE("the chief counts as a worker; evaluators count themselves", "[cluster][S4]") {
  CHECK(worker_count(everybody(), "chief") == 3);
  CHECK(worker_count(everybody(), "worker") == 3);
  CHECK(worker_count(two_workers(), "worker") == 2);
  CHECK(worker_count(everybody(), "evaluator") == 1);
  CHECK_FAILS(worker_count(two_workers(), "evaluator"), kInvalid, "'evaluator' is not in the cluster");
  CHECK_FAILS(worker_count(everybody(), "ps"), kInvalid, "'ps' has no count of workers");
  CHECK_FAILS(worker_count(everybody(), std::nullopt), kInvalid, "a process without a task type has no count");
}

TEST_CASE("each question refuses a task that the cluster has not", "[cluster][S4]") {
  const auto check_refused = [](const std::string& type, std::optional<int> id, const std::string& part) {
    CHECK_FAILS(is_chief(two_workers(), type, id), kInvalid, part);
    CHECK_FAILS(collective_leader(two_workers(), type, id), kInvalid, part);
    CHECK_FAILS(id_in_cluster(two_workers(), type, id), kInvalid, part);
  };
  check_refused("boss", 0, "task type 'boss': wanted chief");
  check_refused("chief", 0, "'chief' is not in the cluster, which has worker");
  check_refused("worker", 2, "task worker 2: the cluster has 2 of type worker");
  check_refused("worker", -1, "task worker -1: the cluster has 2");
  check_refused("worker", std::nullopt, "task type 'worker' without an index");
  CHECK_FAILS(worker_count(two_workers(), "boss"), kInvalid, "task type 'boss'");
  CHECK_FAILS(worker_count(two_workers(), "chief"), kInvalid, "'chief' is not in the cluster");
  CHECK_FAILS(is_chief(everybody(), "evaluator", 1), kInvalid, "task evaluator 1: the cluster has 1");
}

}  // namespace
}  // namespace belfry
