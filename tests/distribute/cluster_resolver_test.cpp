#include "distribute/cluster_resolver.h"

#include <random>

#include "tests/support/check_fails.h"
#include "tests/support/scoped_environment.h"
#include "tests/testing.h"

namespace belfry {
namespace {

using testing::ScopedEnvironment;

constexpr ErrorKind kInvalid = ErrorKind::kInvalidArgument;
constexpr const char* kWorker1 =
    R"({"cluster": {"chief": ["h:1"], "worker": ["a:1", "b:2"]}, "task": {"type": "worker", "index": 1}})";

// All that the resolvers read, so that a test sees its own variables alone.
ScopedEnvironment::Values environment_with(const ScopedEnvironment::Values& values) {
  ScopedEnvironment::Values all;
  for (const char* name : {"TF_CONFIG", "RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"}) {
    all[name] = std::nullopt;
  }
  for (const auto& [name, value] : values) all[name] = value;
  return all;
}

ScopedEnvironment::Values torchrun(const std::string& rank, const std::string& world_size) {
  return environment_with(
      {{"RANK", rank}, {"WORLD_SIZE", world_size}, {"MASTER_ADDR", "node0"}, {"MASTER_PORT", "29500"}});
}

TEST_CASE("a simple resolver says what it was given", "[cluster][S3][S4]") {
  const ClusterSpec cluster({{"worker", {"a:1", "b:2"}}});
  const SimpleClusterResolver resolver(
      cluster, {.task_type = "worker", .task_id = 1, .environment = "cloud", .rpc_layer = "grpc"});
  CHECK(resolver.cluster_spec() == cluster);
  CHECK(resolver.task_type() == "worker");
  CHECK(resolver.task_id() == 1);
  CHECK(resolver.environment() == "cloud");
  CHECK(resolver.rpc_layer() == "grpc");
  CHECK(resolver.master() == "grpc://b:2");
  CHECK(resolver.master("worker", 0) == "grpc://a:1");

  const SimpleClusterResolver alone{ClusterSpec()};
  CHECK(alone.cluster_spec().empty());
  CHECK_FALSE(alone.task_type());
  CHECK_FALSE(alone.task_id());
  CHECK_FALSE(alone.environment());
  CHECK_FALSE(alone.rpc_layer());
  CHECK(alone.master().empty());
}

TEST_CASE("a simple resolver refuses half a task", "[cluster][S4]") {
  CHECK_FAILS(SimpleClusterResolver({}, {.task_type = "worker"}), kInvalid, "task type 'worker' without an index");
  CHECK_FAILS(SimpleClusterResolver({}, {.task_id = 3}), kInvalid, "task index 3 without a type");
  CHECK_FAILS(SimpleClusterResolver({}, {.task_type = "boss", .task_id = 0}), kInvalid, "task type 'boss'");
  CHECK_FAILS(SimpleClusterResolver({}, {.task_type = "worker", .task_id = -1}), kInvalid, "task index -1");
}

TEST_CASE("TF_CONFIG gives cluster, task, environment and protocol", "[cluster][S3][S4]") {
  const TfConfigClusterResolver resolver(R"({
    "cluster": {"chief": ["h:1"], "worker": ["a:1", "b:2"], "ps": ["c:3"]},
    "task": {"type": "ps", "index": 0}, "environment": "cloud", "rpc_layer": "grpc", "job": {"job_name": "x"}})");
  CHECK(resolver.cluster_spec() == ClusterSpec({{"chief", {"h:1"}}, {"worker", {"a:1", "b:2"}}, {"ps", {"c:3"}}}));
  CHECK(resolver.task_type() == "ps");
  CHECK(resolver.task_id() == 0);
  CHECK(resolver.environment() == "cloud");
  CHECK(resolver.rpc_layer() == "grpc");
  CHECK(resolver.master() == "grpc://c:3");
}

TEST_CASE("TF_CONFIG that is missing or says nothing is a cluster of nobody", "[cluster][S3][S4]") {
  const ScopedEnvironment nothing(environment_with({}));
  for (const auto& resolver :
       {TfConfigClusterResolver(), TfConfigClusterResolver("{}"),
        TfConfigClusterResolver(R"({"cluster": null, "task": {"type": null}, "environment": null})")}) {
    CHECK(resolver.cluster_spec().empty());
    CHECK_FALSE(resolver.task_type());
    CHECK_FALSE(resolver.task_id());
    CHECK(resolver.master().empty());
  }
}

TEST_CASE("TF_CONFIG is read from the environment when the resolver is made", "[cluster][S4]") {
  std::optional<TfConfigClusterResolver> resolver;
  {
    const ScopedEnvironment set(environment_with({{"TF_CONFIG", kWorker1}}));
    resolver.emplace();
  }
  CHECK(resolver->task_type() == "worker");
  CHECK(resolver->master() == "b:2");
  CHECK(id_in_cluster(resolver->cluster_spec(), resolver->task_type(), resolver->task_id()) == 2);

  const ScopedEnvironment empty(environment_with({{"TF_CONFIG", ""}}));
  CHECK_FAILS(TfConfigClusterResolver(), kInvalid, "TF_CONFIG: is empty; wanted {\"cluster\"");
}

TEST_CASE("TF_CONFIG's index may be a text of digits", "[cluster][S4]") {
  const auto with_index = [](const std::string& index) {
    return R"({"cluster": {"worker": ["a:1", "b:2"]}, "task": {"type": "worker", "index": )" + index + "}}";
  };
  CHECK(TfConfigClusterResolver(with_index("1")).task_id() == 1);
  CHECK(TfConfigClusterResolver(with_index("\"1\"")).task_id() == 1);
  for (const char* bad : {"\"one\"", "\"\"", "\"1x\"", "\" 1\"", "\"-1\"", "-1", "1.0", "1e0", "true", "[]", "{}",
                          "2147483648", "\"2147483648\"", "99999999999999999999"}) {
    INFO("index " << bad);
    CHECK_FAILS(TfConfigClusterResolver(with_index(bad)), kInvalid, "TF_CONFIG: task.index is ");
  }
  CHECK_FAILS(TfConfigClusterResolver(with_index("\"one\"")), kInvalid, "'one'; wanted a whole number from 0");
}

TEST_CASE("the master is asked for with a task that the cluster has", "[cluster][S4]") {
  const std::string cluster = R"({"cluster": {"worker": ["a:1", "b:2"]})";
  const auto with_task = [&](const std::string& task) { return TfConfigClusterResolver(cluster + task + "}"); };
  CHECK(with_task(R"(, "task": {"type": "worker", "index": 1})").master() == "b:2");
  CHECK(with_task(R"(, "task": {"type": "worker", "index": 1})").master("worker", 0) == "a:1");
  CHECK(with_task(R"(, "task": {"type": "worker", "index": 1})").master(std::nullopt, 0) == "a:1");
  CHECK(with_task("").master("worker", 1) == "b:2");
  CHECK_FAILS(with_task("").master(), kInvalid, "a cluster but no task");
  CHECK_FAILS(with_task(R"(, "task": {"type": "worker", "index": 5})").master(), kInvalid,
              "task worker 5: the cluster has 2 of type worker");
  CHECK_FAILS(with_task(R"(, "task": {"type": "evaluator", "index": 0})").master(), kInvalid, "'evaluator' is not in");
  CHECK_FAILS(with_task("").master("boss", 0), kInvalid, "'boss'");
}

TEST_CASE("a task alone in its cluster has no master, as in TensorFlow, unless asked by name", "[cluster][S4]") {
  const TfConfigClusterResolver resolver(R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}})");
  CHECK(resolver.master().empty());
  CHECK(resolver.master("worker", 0) == "a:1");
  CHECK_FAILS(resolver.master("worker", 1), kInvalid, "task worker 1: the cluster has 1");
}

TEST_CASE("an evaluator need not be in the cluster", "[cluster][S4]") {
  const TfConfigClusterResolver resolver(
      R"({"cluster": {"worker": ["a:1", "b:2"]}, "task": {"type": "evaluator", "index": 0}})");
  CHECK(resolver.task_type() == "evaluator");
  CHECK(is_chief(resolver.cluster_spec(), resolver.task_type(), resolver.task_id()));
}

TEST_CASE("TF_CONFIG that is no JSON is refused with the place", "[cluster][S4]") {
  CHECK_FAILS(TfConfigClusterResolver("{bad"), kInvalid, "TF_CONFIG: is no JSON at byte 2 of 4: '{bad'; wanted");
  CHECK_FAILS(TfConfigClusterResolver(R"({"cluster": {"worker": ["a:1",]}})"), kInvalid, "at byte 31 of 33");
  CHECK_FAILS(TfConfigClusterResolver("{} x"), kInvalid, "at byte 4 of 4");
  CHECK_FAILS(TfConfigClusterResolver("{\"a\": \"\xff\"}"), kInvalid, "TF_CONFIG: is no JSON at byte 8");
  CHECK_FAILS(TfConfigClusterResolver(R"({"a": 1e999})"), kInvalid, "TF_CONFIG: is no JSON that can be read");
  const std::string far = std::string(100000, ' ') + "worker1 " + std::string(100000, ' ');
  const testing::Failure failed = testing::failure([&] { TfConfigClusterResolver resolver(far); });
  CHECK_THAT(failed.message, Catch::Contains("at byte 100001 of 200008") && Catch::Contains("worker1"));
  CHECK(failed.message.size() < 400);
}

TEST_CASE("TF_CONFIG of another form is refused with the part and its value", "[cluster][S3][S4]") {
  struct Case {
    const char* json;
    const char* message;
  };
  const Case cases[] = {
      {"null", "TF_CONFIG: is null; wanted an object"},
      {"[1]", "TF_CONFIG: is a list; wanted an object"},
      {"\"text\"", "TF_CONFIG: is 'text'; wanted an object"},
      {R"({"cluster": ["a:1"]})", "TF_CONFIG: cluster is a list; wanted an object"},
      {R"({"cluster": {"worker": "a:1"}})", "TF_CONFIG: cluster.worker is 'a:1'; wanted a list"},
      {R"({"cluster": {"worker": {"0": "a:1"}}})", "TF_CONFIG: cluster.worker is an object; wanted a list"},
      {R"({"cluster": {"worker": null}})", "TF_CONFIG: cluster.worker is null; wanted a list"},
      {R"({"cluster": {"worker": ["a:1", 2222]}})", "TF_CONFIG: cluster.worker[1] is 2222; wanted text"},
      {R"({"cluster": {"worker": ["a:1", null]}})", "TF_CONFIG: cluster.worker[1] is null; wanted text"},
      {R"({"cluster": {"worker": ["a:1", ""]}})", "TF_CONFIG: cluster.worker[1] is ''; wanted text"},
      {R"({"cluster": {"worker": ["a:1", "b"]}})", "TF_CONFIG: cluster: address 'b' of worker 1: wanted HOST:PORT"},
      {R"({"cluster": {"worker": ["a:1"], "ps": ["a:1"]}})", "TF_CONFIG: cluster: address 'a:1' is that of both"},
      {R"({"cluster": {"boss": ["a:1"]}})", "TF_CONFIG: cluster: task type 'boss': wanted chief"},
      {R"({"cluster": {"master": ["a:1"]}})", "chief (in old configurations: master)"},
      {R"({"cluster": {"chief": ["a:1", "b:1"]}})", "TF_CONFIG: cluster: 2 tasks of type chief"},
      {R"({"cluster": {"worker": ["a:1"], "worker": ["b:1"]}})", "TF_CONFIG: key 'worker' is given twice"},
      {R"({"task": "worker"})", "TF_CONFIG: task is 'worker'; wanted an object"},
      {R"({"task": {"type": "worker"}})", "TF_CONFIG: task type 'worker' without an index"},
      {R"({"task": {"type": "worker", "index": null}})", "TF_CONFIG: task type 'worker' without an index"},
      {R"({"task": {"index": 3}})", "TF_CONFIG: task index 3 without a type"},
      {R"({"task": {"type": 1, "index": 0}})", "TF_CONFIG: task.type is 1; wanted text"},
      {R"({"task": {"type": "boss", "index": 0}})", "TF_CONFIG: task type 'boss': wanted chief"},
      {R"({"environment": 1.5})", "TF_CONFIG: environment is 1.5; wanted text"},
      {R"({"rpc_layer": false})", "TF_CONFIG: rpc_layer is false; wanted text"},
  };
  for (const Case& bad : cases) {
    INFO(bad.json);
    CHECK_FAILS(TfConfigClusterResolver(bad.json), kInvalid, bad.message);
  }
}

TEST_CASE("one key in two places of TF_CONFIG is no repetition", "[cluster][S4]") {
  CHECK_NOTHROW(TfConfigClusterResolver(R"({"a": [{"type": 1}, {"type": 2}], "b": {"c": {"b": 1}, "d": 1}, "d": 1})"));
}

TEST_CASE("TF_CONFIG nested without end is refused, not followed", "[cluster][S4]") {
  const std::string open(200000, '[');
  CHECK_FAILS(TfConfigClusterResolver(open), kInvalid, "TF_CONFIG: is no JSON at byte 200001");
  const std::string nested = open + std::string(200000, ']');
  CHECK_FAILS(TfConfigClusterResolver(nested), kInvalid, "TF_CONFIG: is a list");
  CHECK_FAILS(TfConfigClusterResolver(R"({"cluster": {"worker": [)" + nested + "]}}"), kInvalid,
              "TF_CONFIG: cluster.worker[0] is a list");
}

// Cuts, drops, doubles and overwrites bytes.
std::string broken(std::string text, std::mt19937& random) {
  const auto below = [&](size_t limit) { return static_cast<size_t>(random() % limit); };
  const std::string marks("{}[]\",:\\0-9eEn\xff\xc3\0", 18);
  for (size_t changes = 1 + below(4); changes > 0 && !text.empty(); --changes) {
    const size_t at = below(text.size());
    switch (below(5)) {
      case 0:
        text.resize(at);
        break;
      case 1:
        text.erase(at, 1 + below(8));
        break;
      case 2:
        text.insert(at, text.substr(below(text.size()), below(20)));
        break;
      case 3:
        text[at] = marks[below(marks.size())];
        break;
      default:
        text[at] = static_cast<char>(below(256));
    }
  }
  return text;
}

TEST_CASE("broken TF_CONFIG is understood or refused by name, whatever its bytes", "[cluster][S4]") {
  std::mt19937 random(17);
  int understood = 0;
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    const std::string text = broken(kWorker1, random);
    try {
      const TfConfigClusterResolver resolver(text);
      REQUIRE(resolver.task_type().has_value() == resolver.task_id().has_value());
      ++understood;
    } catch (const Error& error) {
      INFO(text);
      REQUIRE(error.kind() == kInvalid);
      REQUIRE_THAT(error.what(), Catch::StartsWith("TF_CONFIG: "));
      ++refused;
    }
  }
  CHECK(understood > 100);
  CHECK(refused > 10000);
}

TEST_CASE("torchrun's variables make a worker of a cluster whose first address is known", "[cluster][S3][S4]") {
  ScopedEnvironment::Values variables = torchrun("1", "3");
  variables["LOCAL_RANK"] = "0";
  const ScopedEnvironment set(variables);
  const TorchrunClusterResolver resolver;
  const ClusterSpec& cluster = resolver.cluster_spec();
  CHECK(cluster.jobs() == std::vector<std::string>{"worker"});
  CHECK(resolver.task_type() == "worker");
  CHECK(resolver.task_id() == 1);
  CHECK(resolver.local_rank() == 0);
  CHECK_FALSE(resolver.environment());
  CHECK_FALSE(resolver.rpc_layer());
  CHECK(worker_count(cluster, resolver.task_type()) == 3);
  CHECK(id_in_cluster(cluster, resolver.task_type(), resolver.task_id()) == 1);
  CHECK_FALSE(is_chief(cluster, resolver.task_type(), resolver.task_id()));
  CHECK(resolver.master("worker", 0) == "node0:29500");
  CHECK_FAILS(resolver.master(), kInvalid, "task worker 1: its address is not known");
}

TEST_CASE("torchrun's first worker is the chief, and its address may be IPv6", "[cluster][S4]") {
  ScopedEnvironment::Values variables = torchrun("0", "2");
  for (const char* address : {"::1", "[::1]"}) {
    variables["MASTER_ADDR"] = address;
    const ScopedEnvironment set(variables);
    const TorchrunClusterResolver resolver;
    CHECK(is_chief(resolver.cluster_spec(), resolver.task_type(), resolver.task_id()));
    CHECK(resolver.master() == "[::1]:29500");
    CHECK_FALSE(resolver.local_rank());
  }
}

TEST_CASE("a variable of torchrun's that is missing or wrong is named with its value", "[cluster][S4]") {
  for (const char* name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) {
    ScopedEnvironment::Values variables = torchrun("0", "2");
    variables[name] = std::nullopt;
    const ScopedEnvironment set(variables);
    CHECK_FAILS(TorchrunClusterResolver(), kInvalid, std::string(name) + " is not set");
  }
  struct Case {
    const char* name;
    const char* value;
    const char* message;
  };
  const Case cases[] = {
      {"RANK", "2", "RANK is '2'; wanted a whole number from 0 to 1"},
      {"RANK", "-1", "RANK is '-1'"},
      {"RANK", "", "RANK is ''"},
      {"RANK", "first", "RANK is 'first'"},
      {"WORLD_SIZE", "0", "WORLD_SIZE is '0'; wanted a whole number from 1"},
      {"WORLD_SIZE", "2147483647", "WORLD_SIZE is '2147483647'"},
      {"LOCAL_RANK", "2", "LOCAL_RANK is '2'; wanted a whole number from 0 to 1"},
      {"MASTER_PORT", "0", "MASTER_PORT is '0'; wanted a whole number from 1 to 65535"},
      {"MASTER_PORT", "65536", "MASTER_PORT is '65536'"},
      {"MASTER_ADDR", "", "MASTER_ADDR is ''; wanted a host name"},
      {"MASTER_ADDR", "node 0", "MASTER_ADDR is 'node 0'"},
      {"MASTER_ADDR", "tcp://node0", "MASTER_ADDR is 'tcp://node0'"},
  };
  for (const Case& bad : cases) {
    ScopedEnvironment::Values variables = torchrun("0", "2");
    variables[bad.name] = bad.value;
    const ScopedEnvironment set(variables);
    CHECK_FAILS(TorchrunClusterResolver(), kInvalid, bad.message);
  }
}

TEST_CASE("the environment's cluster is TF_CONFIG's, else torchrun's, else nobody's", "[cluster][S3][S4]") {
  SECTION("nothing is set") {
    const ScopedEnvironment set(environment_with({}));
    CHECK(cluster_resolver_from_environment()->cluster_spec().empty());
  }
  SECTION("an address to meet at alone makes no cluster") {
    const ScopedEnvironment set(
        environment_with({{"MASTER_ADDR", "node0"}, {"MASTER_PORT", "1"}, {"LOCAL_RANK", "0"}}));
    CHECK(cluster_resolver_from_environment()->cluster_spec().empty());
  }
  SECTION("TF_CONFIG is set") {
    const ScopedEnvironment set(environment_with({{"TF_CONFIG", kWorker1}}));
    CHECK(cluster_resolver_from_environment()->master() == "b:2");
  }
  SECTION("torchrun's variables are set") {
    const ScopedEnvironment set(torchrun("0", "2"));
    CHECK(cluster_resolver_from_environment()->master() == "node0:29500");
  }
  SECTION("torchrun's variables are set, and TF_CONFIG without a cluster") {
    ScopedEnvironment::Values variables = torchrun("0", "2");
    variables["TF_CONFIG"] = R"({"environment": "cloud"})";
    const ScopedEnvironment set(variables);
    CHECK(cluster_resolver_from_environment()->master() == "node0:29500");
  }
  SECTION("both are set and agree") {
    ScopedEnvironment::Values variables = torchrun("2", "3");
    variables["TF_CONFIG"] = kWorker1;
    const ScopedEnvironment set(variables);
    CHECK(cluster_resolver_from_environment()->master() == "b:2");
  }
}

TEST_CASE("an environment that contradicts itself is refused", "[cluster][S4]") {
  const auto check_refused = [](ScopedEnvironment::Values variables, const char* config, const std::string& part) {
    variables["TF_CONFIG"] = config;
    const ScopedEnvironment set(variables);
    CHECK_FAILS(cluster_resolver_from_environment(), kInvalid, part);
  };
  check_refused(torchrun("1", "3"), kWorker1,
                "TF_CONFIG makes this process worker 1, number 2 of 3, RANK and WORLD_SIZE make it number 1 of 3");
  check_refused(torchrun("2", "4"), kWorker1, "make it number 2 of 4: unset");
  check_refused(torchrun("0", "2"), R"({"cluster": {"worker": ["a:1", "b:1"]}})",
                "TF_CONFIG gives this process no task");
  check_refused(torchrun("0", "2"),
                R"({"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "evaluator", "index": 0}})",
                "TF_CONFIG makes this process evaluator 0");
  check_refused(torchrun("0", "2"), "{bad", "TF_CONFIG: is no JSON");
  check_refused(environment_with({{"RANK", "0"}}), "{}", "WORLD_SIZE is not set");
}

}  // namespace
}  // namespace belfry
