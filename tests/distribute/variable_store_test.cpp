#include "distribute/variable_store.h"

#include <ATen/ATen.h>

#include <thread>

#include "core/error.h"
#include "tests/testing.h"

using belfry::Error;
using belfry::ErrorKind;
using belfry::TensorDict;
using belfry::Variable;
using belfry::VariableKind;
using belfry::VariableStore;
using Catch::Contains;

namespace {

template <class Call>
ErrorKind kind_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.kind();
  }
  FAIL("nothing was thrown");
  return ErrorKind::kInternal;
}

}  // namespace

TEST_CASE("a variable is made once and is a copy of its initial value", "[store]") {
  VariableStore store(1);
  const at::Tensor initial = at::ones({2});
  Variable& made = store.get_or_create("w", VariableKind::kParameter, initial);
  initial.zero_();
  CHECK(made.value().sum().item<float>() == 2);
  int calls = 0;
  Variable& again = store.get_or_create("w", VariableKind::kParameter, [&] { return ++calls, at::zeros({2}); });
  CHECK(&again == &made);
  CHECK(calls == 0);
  CHECK(store.find("w") == &made);
  CHECK(store.find("v") == nullptr);
}

TEST_CASE("a variable that is there keeps kind, shape and dtype", "[store]") {
  VariableStore store(1);
  store.get_or_create("w", VariableKind::kParameter, at::ones({2}));
  const auto create = [&](VariableKind kind, const at::Tensor& initial) {
    return [&store, kind, initial] { store.get_or_create("w", kind, initial); };
  };
  CHECK(kind_of(create(VariableKind::kBuffer, at::ones({2}))) == ErrorKind::kAlreadyExists);
  CHECK(kind_of(create(VariableKind::kParameter, at::ones({3}))) == ErrorKind::kAlreadyExists);
  CHECK(kind_of(create(VariableKind::kParameter, at::ones({2}, at::kLong))) == ErrorKind::kAlreadyExists);
  CHECK_THROWS_WITH(create(VariableKind::kParameter, at::ones({3}))(),
                    Contains("'w'") && Contains("[2]") && Contains("[3]"));
  CHECK(kind_of([&] { store.get_or_create("w", VariableKind::kSlot, [] { return at::ones({2}); }); }) ==
        ErrorKind::kAlreadyExists);
  CHECK(kind_of([&] { store.get_or_create("a b", VariableKind::kSlot, at::ones({2})); }) ==
        ErrorKind::kInvalidArgument);
}

TEST_CASE("the global step is there from the start and is part of the state", "[store]") {
  VariableStore store(1);
  CHECK(store.global_step() == 0);
  store.set_global_step(41);
  CHECK(store.snapshot()["global_step"].item<int64_t>() == 41);
  CHECK(store.snapshot()["global_step"].scalar_type() == at::kLong);
}

TEST_CASE("variables come sorted by name and by kind", "[store]") {
  VariableStore store(1);
  store.get_or_create("b", VariableKind::kParameter, at::ones({1}));
  store.get_or_create("a", VariableKind::kBuffer, at::ones({1}));
  store.get_or_create("c", VariableKind::kParameter, at::ones({1}));
  CHECK(store.snapshot().names() == std::vector<std::string>{"a", "b", "c", "global_step"});
  const auto parameters = store.variables(VariableKind::kParameter);
  REQUIRE(parameters.size() == 2);
  CHECK(parameters[0]->name() == "b");
  CHECK(store.variables(VariableKind::kSlot).empty());
}

TEST_CASE("a restored value waits until its variable is asked for", "[store]") {
  VariableStore store(1);
  Variable& there = store.get_or_create("there", VariableKind::kParameter, at::zeros({2}));
  CHECK(store.restore_difference().missing.empty());
  store.restore({{"there", at::full({2}, 5.0)}, {"later", at::full({3}, 7.0)}, {"never", at::ones({1})}}, "model-3");
  CHECK(there.value()[1].item<float>() == 5);
  CHECK(store.was_restored("later"));
  CHECK_FALSE(store.was_restored("other"));
  CHECK(store.restore_difference().missing == std::vector<std::string>{"global_step"});
  CHECK(store.restore_difference().unused == std::vector<std::string>{"later", "never"});
  CHECK(store.snapshot()["later"].sum().item<float>() == 21);  // not lost while nobody asks for it
  CHECK(store.get_or_create("later", VariableKind::kSlot, at::zeros({3})).value().sum().item<float>() == 21);
  store.get_or_create("fresh", VariableKind::kSlot, at::zeros({3}));
  CHECK(store.restore_difference().missing == std::vector<std::string>{"global_step", "fresh"});
  CHECK(store.missing_after(1) == std::vector<std::string>{"fresh"});
  CHECK(store.missing_after(2).empty());
  CHECK(store.missing_after(9).empty());
  CHECK(store.restore_difference().unused == std::vector<std::string>{"never"});
}

TEST_CASE("a restore that does not fit names both shapes and changes nothing", "[store]") {
  VariableStore store(1);
  Variable& a = store.get_or_create("a", VariableKind::kParameter, at::zeros({2}));
  Variable& b = store.get_or_create("b", VariableKind::kParameter, at::zeros({2}));
  const uint64_t version = a.version();
  CHECK_THROWS_WITH(store.restore({{"a", at::ones({2})}, {"b", at::ones({2, 1})}}, "model-9"),
                    Contains("'b'") && Contains("[2, 1]") && Contains("[2]") && Contains("model-9"));
  CHECK_THROWS_WITH(store.restore({{"a", at::ones({2})}, {"b", at::ones({2}, at::kDouble)}}, "model-9"),
                    Contains("'b'") && Contains("Double") && Contains("Float"));
  CHECK(a.value().sum().item<float>() == 0);
  CHECK(b.value().sum().item<float>() == 0);
  CHECK(a.version() == version);
  CHECK_FALSE(store.was_restored("a"));
  CHECK(store.restore_difference().unused.empty());
}

TEST_CASE("a waiting value that does not fit is refused when it is asked for, and goes on waiting", "[store]") {
  VariableStore store(1);
  store.restore({{"w", at::ones({4, 3})}}, "model-9");
  CHECK_THROWS_WITH(store.get_or_create("w", VariableKind::kParameter, at::zeros({3, 4})),
                    Contains("'w'") && Contains("[4, 3]") && Contains("[3, 4]") && Contains("model-9"));
  CHECK(store.find("w") == nullptr);
  CHECK(store.get_or_create("w", VariableKind::kParameter, at::zeros({4, 3})).value().sum().item<float>() == 12);
}

TEST_CASE("a snapshot restores into another store, layouts and dtypes included", "[store]") {
  VariableStore store(1);
  const at::Tensor image = at::randn({2, 3, 4, 4}).contiguous(at::MemoryFormat::ChannelsLast);
  store.get_or_create("image", VariableKind::kParameter, image);
  store.get_or_create("flag", VariableKind::kBuffer, at::ones({}, at::kBool));
  store.get_or_create("empty", VariableKind::kState, at::zeros({0, 3}));
  store.set_global_step(7);
  const TensorDict snapshot = store.snapshot();
  store.find("image")->value().zero_();  // a snapshot is a copy

  VariableStore other(2);
  other.restore(snapshot, "snapshot");
  const Variable& restored = other.get_or_create("image", VariableKind::kParameter, at::zeros({2, 3, 4, 4}));
  CHECK(at::equal(restored.value(), image));
  CHECK(restored.value().is_contiguous());
  CHECK(other.get_or_create("flag", VariableKind::kBuffer, at::zeros({}, at::kBool)).value().item<bool>());
  CHECK(other.get_or_create("empty", VariableKind::kState, at::ones({0, 3})).value().numel() == 0);
  CHECK(other.global_step() == 7);
  CHECK(other.restore_difference().missing.empty());
  CHECK(other.restore_difference().unused.empty());
}

TEST_CASE("a variable made under InferenceMode can be trained", "[store]") {
  VariableStore store(1);
  {
    const c10::InferenceMode inference;
    store.get_or_create("w", VariableKind::kParameter, at::ones({2}));
  }
  CHECK_FALSE(store.find("w")->value().is_inference());
}

TEST_CASE("an expanded or strided initial value becomes dense", "[store]") {
  VariableStore store(1);
  const Variable& a = store.get_or_create("a", VariableKind::kParameter, at::ones({1}).expand({3, 2}));
  CHECK(a.value().is_contiguous());
  const Variable& b =
      store.get_or_create("b", VariableKind::kParameter, at::arange(12.0).view({3, 4}).slice(1, 0, 4, 2));
  CHECK(b.value().is_contiguous());
  CHECK(b.value().sum().item<float>() == 0 + 2 + 4 + 6 + 8 + 10);
}

TEST_CASE("variables take turns on the devices, slots stay beside them and counters on the CPU", "[store]") {
  VariableStore store(1);
  const auto cpus = belfry::parse_devices({"cpu:0", "cpu:2"});
  store.place_on(cpus);
  const auto made_on = [&](const char* name, VariableKind kind) {
    return store.get_or_create(name, kind, at::zeros({2})).device_name();
  };
  CHECK(made_on("a", VariableKind::kParameter) == "cpu:0");
  CHECK(made_on("count", VariableKind::kState) == "cpu:0");
  CHECK(made_on("b", VariableKind::kBuffer) == "cpu:2");
  CHECK(made_on("c", VariableKind::kParameter) == "cpu:0");
  CHECK(made_on("a", VariableKind::kParameter) == "cpu:0");
  store.place_on(cpus);
  CHECK_THROWS_WITH(store.place_on({}), Contains("no device"));
  // "meta" stands for another device.
  CHECK_THROWS_WITH(store.place_on({{"meta", at::Device(at::kMeta)}}), Contains("'a'") && Contains("meta"));
}

TEST_CASE("restored values that wait can be listed and taken as they are", "[store]") {
  VariableStore store(1);
  store.restore({{"a/x", at::full({2}, 3.0)}, {"a/y", at::full({1}, 4.0)}, {"b", at::zeros({})}}, "model-1");
  CHECK(store.waiting_names("a/") == std::vector<std::string>{"a/x", "a/y"});
  Variable* taken = store.find_or_take("a/x", VariableKind::kSlot);
  REQUIRE(taken != nullptr);
  CHECK(taken->kind() == VariableKind::kSlot);
  CHECK(taken->value().equal(at::full({2}, 3.0)));
  CHECK(store.find_or_take("a/x", VariableKind::kSlot) == taken);
  CHECK(store.waiting_names("a/") == std::vector<std::string>{"a/y"});
  CHECK(store.find_or_take("c", VariableKind::kSlot) == nullptr);
}

TEST_CASE("threads that make the same names at once get the same variables", "[store]") {
  VariableStore store(1);
  store.restore({{"v3", at::full({4}, 9.0)}}, "model-1");
  std::vector<std::vector<Variable*>> made(4);
  std::vector<std::thread> threads;
  for (auto& mine : made) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        const std::string name = "v" + std::to_string(i);
        mine.push_back(&store.get_or_create(name, VariableKind::kParameter, [] { return at::ones({4}); }));
        store.variables();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& mine : made) CHECK(mine == made[0]);
  CHECK(store.variables().size() == 51);
  CHECK(store.find("v3")->value()[0].item<float>() == 9);
  CHECK(store.restore_difference().missing.size() == 50);
}
