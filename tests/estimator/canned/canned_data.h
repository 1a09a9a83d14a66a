// The data and runs of canned.json. Needs tests/testing.h before it.
#pragma once

#include <memory>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "core/tensor_dict.h"
#include "data/dataset.h"
#include "data/generator.h"
#include "distribute/variable_store.h"
#include "estimator/estimator.h"
#include "estimator/session_run_hook.h"
#include "tests/support/reference.h"

namespace belfry::testing {

inline void append_strings(const Json& json, std::vector<std::string>& to) {
  if (!json.is_array()) return to.push_back(json.get<std::string>());
  for (const Json& part : json) append_strings(part, to);
}

inline bool holds_strings(const Json& json) {
  return json.is_array() ? !json.empty() && holds_strings(json.front()) : json.is_string() && json != "nan";
}

inline bool holds_integers(const Json& json) {
  return json.is_array() ? !json.empty() && holds_integers(json.front()) : json.is_number_integer();
}

// Strings, int64 where the first number is written as an integer, else float32.
inline Value to_value(const Json& json) {
  if (!holds_strings(json)) return to_tensor(json, holds_integers(json) ? at::kLong : at::kFloat);
  std::vector<std::string> strings;
  append_strings(json, strings);
  return StringTensor(std::move(strings), shape_of(json));
}

// Columns `features` and `label` of one part of canned.json's data.
inline Batch batch_of(const Json& data, const Json& features, const std::string& label) {
  Batch batch;
  for (const Json& name : features) {
    batch.features.set(name, to_tensor(data[name.get<std::string>()], at::kFloat));
  }
  batch.labels = Labels();
  batch.labels.set("", to_value(data[label]));
  return batch;
}

// What `pattern` finds first in `text`: its first group. The file says its settings in sentences.
inline std::string said_in(const std::string& text, const char* pattern) {
  std::smatch found;
  INFO(pattern << " in: " << text);
  REQUIRE(std::regex_search(text, found, std::regex(pattern)));
  return found[1];
}

// Rows of a training step and of an evaluation's batches, about.batches.
inline int64_t batch_size() {
  return std::stoll(said_in(reference("canned")["about"]["batches"], "in batches ([0-9]+)"));
}

// Training step t takes the next `size` rows, around the end of the data.
inline InputFn rows_around(const Batch& batch, int64_t size) {
  return [batch, size] { return Dataset::from_tensors(batch.features, batch.labels).repeat().batch(size); };
}

inline InputFn rows_once(const Batch& batch, int64_t size) {
  return [batch, size] { return Dataset::from_tensors(batch.features, batch.labels).batch(size); };
}

// Gives variables their first values, and notes the loss of each step.
class ReferenceHook : public SessionRunHook {
 public:
  explicit ReferenceHook(Json initial) : initial_(std::move(initial)) {}

  void begin(HookSession& session) override {
    for (const auto& [name, value] : initial_.items()) {
      session.store.get_or_create(name, VariableKind::kParameter, to_tensor(value));
    }
  }
  void before_apply(RunContext& context) override { losses.push_back(context.loss()); }

  std::vector<double> losses;

 private:
  Json initial_;
};

inline void check_losses(const std::vector<double>& losses, const Json& expected, double relative = 1e-5) {
  REQUIRE(losses.size() == expected.size());
  for (size_t i = 0; i < losses.size(); ++i) {
    INFO("step " << i << ": loss " << losses[i] << ", expected " << to_number(expected[i]));
    CHECK(is_close(losses[i], to_number(expected[i]), relative, 1e-6));
  }
}

inline void check_evaluation(const EvalResult& result, const Json& expected, double relative = 1e-5) {
  for (const auto& [name, value] : expected.items()) {
    INFO("evaluation: " << name);
    REQUIRE((name == "global_step" || result.contains(name)));
    const double actual = name == "global_step" ? static_cast<double>(result.global_step()) : result[name];
    INFO(actual << ", expected " << to_number(value));
    CHECK(is_close(actual, to_number(value), relative, 1e-6));
  }
}

// Every key, with its shape, dtype, and values; and no other key.
inline void check_predictions(const Predictions& predictions, const Json& expected, double relative = 1e-5) {
  CHECK(predictions.size() == expected.size());
  for (const auto& [name, value] : expected.items()) {
    INFO("prediction " << name);
    REQUIRE(predictions.contains(name));
    const Value wanted = to_value(value);
    const Value& actual = predictions.at(name);
    REQUIRE(actual.is_strings() == wanted.is_strings());
    if (wanted.is_strings()) {
      CHECK(actual.strings() == wanted.strings());
    } else {
      check_close(actual.tensor(), wanted.tensor(), relative);
    }
  }
}

}  // namespace belfry::testing
