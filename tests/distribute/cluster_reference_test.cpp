// What tf.distribute knows of a cluster: the section `cluster` of reference/distribute.json.
#include "tests/testing.h"
// testing.h has to come first

#include "distribute/cluster_resolver.h"
#include "tests/support/reference.h"
#include "tests/support/scoped_environment.h"

namespace belfry {
namespace {

using testing::Json;
using testing::ScopedEnvironment;

// What TensorFlow refuses, by whatever exception, is an invalid argument here.
template <class Call>
void check_same(const Json& expected, const Call& call) {
  try {
    const Json actual = call();
    INFO("is " << actual << ", expected " << expected);
    REQUIRE(expected.contains("result"));
    CHECK(actual == expected.at("result"));
  } catch (const Error& error) {
    INFO("failed with '" << error.what() << "', expected " << expected);
    CHECK(expected.contains("error"));
    CHECK(error.kind() == ErrorKind::kInvalidArgument);
  }
}

template <class Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

template <class Value>
std::optional<Value> to_optional(const Json& value) {
  return value.is_null() ? std::nullopt : std::optional<Value>(value.get<Value>());
}

Json described(const ClusterResolver& resolver) {
  Json cluster = Json::object();
  for (const auto& [type, addresses] : resolver.cluster_spec().as_dict()) cluster[type] = addresses;
  return {{"cluster", cluster},
          {"task_type", or_null(resolver.task_type())},
          {"task_id", or_null(resolver.task_id())},
          {"environment", or_null(resolver.environment())},
          {"rpc_layer", or_null(resolver.rpc_layer())},
          {"master", resolver.master()}};
}

TEST_CASE("TF_CONFIG is read as by tf.distribute", "[cluster][reference][S3][S4]") {
  const Json file = testing::reference("distribute");
  REQUIRE_FALSE(file.at("cluster").at("resolver").empty());
  for (const Json& reference : file.at("cluster").at("resolver")) {
    const Json& config = reference.at("config");
    INFO("TF_CONFIG " << config);
    std::optional<std::string> text;
    if (!config.is_null()) text = config.is_string() ? config.get<std::string>() : config.dump();
    const ScopedEnvironment set({{"TF_CONFIG", text}, {"RANK", std::nullopt}, {"WORLD_SIZE", std::nullopt}});
    check_same(reference, [] { return described(TfConfigClusterResolver()); });
    check_same(reference, [] { return described(*cluster_resolver_from_environment()); });
  }
}

TEST_CASE("questions about a task are answered as by tf.distribute", "[cluster][reference][S3][S4]") {
  const Json file = testing::reference("distribute");
  REQUIRE_FALSE(file.at("cluster").at("helpers").empty());
  for (const Json& reference : file.at("cluster").at("helpers")) {
    const auto tasks = reference.at("cluster").get<ClusterSpec::Tasks>();
    const auto type = to_optional<std::string>(reference.at("task_type"));
    const auto id = to_optional<int>(reference.at("task_id"));
    INFO(reference.at("task_type") << " " << reference.at("task_id") << " of " << reference.at("cluster"));
    check_same(reference.at("is_chief"), [&] { return is_chief(ClusterSpec(tasks), type, id); });
    check_same(reference.at("collective_leader"), [&] { return collective_leader(ClusterSpec(tasks), type, id); });
    check_same(reference.at("id_in_cluster"), [&] { return id_in_cluster(ClusterSpec(tasks), type, id); });
    check_same(reference.at("worker_count"), [&] { return worker_count(ClusterSpec(tasks), type); });
  }
}

}  // namespace
}  // namespace belfry
