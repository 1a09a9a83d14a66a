#include "distribute/internal/tf_config.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "core/error.h"
#include "distribute/internal/digits.h"

namespace belfry::internal {
namespace {

using Json = nlohmann::json;

constexpr size_t kShown = 60;  // bytes of a value in a message
constexpr const char* kForm =
    R"({"cluster": {"worker": ["HOST:PORT", "HOST:PORT"]}, "task": {"type": "worker", "index": 0}})";

std::string shortened(const std::string& text) { return text.size() <= kShown ? text : text.substr(0, kShown) + "..."; }

// Arrays and objects are only named: writing them out would recurse as deep as they are nested.
std::string shown(const Json& value) {
  if (value.is_array()) return "a list";
  if (value.is_object()) return "an object";
  if (value.is_string()) return "'" + shortened(value.get<std::string>()) + "'";
  return value.dump();
}

// Of two values of one key JSON's readers keep the last; a list of workers given twice would lose the first.
class RefuseRepeatedKeys {
 public:
  bool operator()(int, Json::parse_event_t event, const Json& parsed) {
    if (event == Json::parse_event_t::object_start) keys_.emplace_back();
    if (event == Json::parse_event_t::object_end) keys_.pop_back();
    if (event == Json::parse_event_t::key) {
      require(keys_.back().insert(parsed.get<std::string>()).second, "key ", shown(parsed), " is given twice");
    }
    return true;
  }

 private:
  std::vector<std::set<std::string>> keys_;
};

Json parse_json(const std::string& text) {
  require(!text.empty(), "is empty; wanted ", kForm, ", or the variable not set");
  try {
    return Json::parse(text, RefuseRepeatedKeys());
  } catch (const Json::parse_error& error) {
    const size_t from = std::min(text.size(), error.byte > kShown / 2 ? error.byte - kShown / 2 : 0);
    fail(ErrorKind::kInvalidArgument, "is no JSON at byte ", error.byte, " of ", text.size(), ": '",
         text.substr(from, kShown), "'; wanted ", kForm);
  } catch (const Json::exception& error) {
    fail(ErrorKind::kInvalidArgument, "is no JSON that can be read: ", error.what());
  }
}

const Json* find(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

const Json& object_at(const Json& object, const char* key) {
  static const Json nothing = Json::object();
  const Json* found = find(object, key);
  if (!found) return nothing;
  require(found->is_object(), key, " is ", shown(*found), "; wanted an object, as in ", kForm);
  return *found;
}

std::optional<std::string> text_at(const Json& object, const char* key, const char* path) {
  const Json* found = find(object, key);
  if (!found) return std::nullopt;
  require(found->is_string(), path, " is ", shown(*found), "; wanted text");
  return found->get<std::string>();
}

std::optional<int> index_at(const Json& task) {
  const Json* found = find(task, "index");
  if (!found) return std::nullopt;
  std::optional<int> index;
  if (found->is_string()) index = parse_digits(found->get_ref<const std::string&>());
  if (found->is_number_unsigned() && found->get<uint64_t>() <= std::numeric_limits<int>::max()) {
    index = found->get<int>();
  }
  require(index.has_value(), "task.index is ", shown(*found), "; wanted a whole number from 0");
  return index;
}

ClusterSpec cluster_of(const Json& config) {
  ClusterSpec::Tasks tasks;
  for (const auto& [type, addresses] : object_at(config, "cluster").items()) {
    const std::string path = "cluster." + shortened(type);
    require(addresses.is_array(), path, " is ", shown(addresses), "; wanted a list of \"HOST:PORT\"");
    std::vector<std::string>& listed = tasks[type];
    for (const Json& address : addresses) {
      require(address.is_string() && address != "", path, "[", listed.size(), "] is ", shown(address),
              "; wanted text, \"HOST:PORT\"");
      listed.push_back(address.get<std::string>());
    }
  }
  return ClusterSpec(std::move(tasks));
}

}  // namespace

SimpleClusterResolver parse_tf_config(const std::string& text) try {
  const Json config = parse_json(text);
  require(config.is_object(), "is ", shown(config), "; wanted an object: ", kForm);
  const Json& task = object_at(config, "task");
  return SimpleClusterResolver(cluster_of(config), {.task_type = text_at(task, "type", "task.type"),
                                                    .task_id = index_at(task),
                                                    .environment = text_at(config, "environment", "environment"),
                                                    .rpc_layer = text_at(config, "rpc_layer", "rpc_layer")});
} catch (const Error& error) {
  fail(error.kind(), "TF_CONFIG: ", error.what());
}

}  // namespace belfry::internal
