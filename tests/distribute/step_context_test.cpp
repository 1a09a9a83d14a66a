#include "distribute/step_context.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include "core/error.h"
#include "core/log.h"
#include "distribute/replica_set.h"
#include "tests/support/tower_check.h"
#include "tests/testing.h"

using belfry::Error;
using belfry::ErrorKind;
using belfry::ReplicaSet;
using belfry::StepContext;
using belfry::VariableKind;
using belfry::VariableStore;
using Catch::Contains;

namespace {

// Towers on logical CPU devices.
class Towers {
 public:
  explicit Towers(int count) : store(1), replicas(store) {
    for (int i = 0; i < count; ++i) devices_.push_back(belfry::parse_device("cpu:" + std::to_string(i)));
    replicas.use(devices_);
  }

  void run(const std::function<void(StepContext&)>& work) {
    const int count = replicas.size();
    replicas.group().run(count, [&](int i) {
      StepContext context(replicas.replica(i), {.replica_count = count, .rendezvous = &replicas.group().rendezvous()});
      const belfry::StepScope scope(context);
      work(context);
    });
  }

  VariableStore store;
  ReplicaSet replicas;

 private:
  std::vector<belfry::LogicalDevice> devices_;
};

at::Tensor gradient_of(const at::Tensor& loss, const at::Tensor& input) {
  return torch::autograd::grad({loss}, {input})[0];
}

}  // namespace

TEST_CASE("a model_fn finds its context on its own thread", "[step_context]") {
  CHECK(StepContext::current() == nullptr);
  Towers towers(3);
  towers.run([](StepContext& context) {
    TOWER_CHECK(StepContext::current() == &context);
    TOWER_CHECK(context.tower_count() == 3);
    TOWER_CHECK(context.device().is_cpu());
  });
  CHECK(StepContext::current() == nullptr);
}

TEST_CASE("several replicas without a rendezvous are refused", "[step_context]") {
  Towers towers(1);
  CHECK_THROWS_WITH(StepContext(towers.replicas.replica(0), {.replica_count = 2}), Contains("2 replicas"));
}

TEST_CASE("a row is named by its place in the whole batch, and by the tower where that is not known",
          "[step_context]") {
  CHECK(StepContext::describe_row(2, 5) == "row 2");
  Towers towers(3);
  StepContext context(
      towers.replicas.replica(1),
      {.replica_count = 3, .rendezvous = &towers.replicas.group().rendezvous(), .first_row = 4, .rows = 3});
  const belfry::StepScope scope(context);
  CHECK(StepContext::describe_row(2, 3) == "row 6 of the batch");
  CHECK(StepContext::describe_row(2, 12) == "row 2 of tower 1's 12");
}

TEST_CASE("one tower's sums are its own values", "[step_context]") {
  Towers towers(1);
  StepContext context(towers.replicas.replica(0), {});
  const at::Tensor x = at::ones({2}).requires_grad_();
  CHECK(context.global_sum(x).is_same(x));
  CHECK(context.sum_over_towers(4, std::source_location::current()) == 4);
  CHECK(context.gather_towers("x", x).size() == 1);
}

TEST_CASE("a global sum and its gradient go over all towers", "[step_context]") {
  Towers towers(3);
  towers.run([](StepContext& context) {
    const double k = context.tower_index() + 1;
    const at::Tensor x = at::full({2}, k, at::kDouble).requires_grad_();
    const at::Tensor sum = context.global_sum(x * 2);
    TOWER_CHECK(at::equal(sum, at::full({2}, 12, at::kDouble)));
    // The step's loss is the sum over towers of k * sum(S^2), so each x gets (1 + 2 + 3) * 2 S * 2.
    const at::Tensor gradient = gradient_of(k * sum.square().sum(), x);
    TOWER_CHECK(at::equal(gradient, at::full({2}, 6 * 2 * 12 * 2, at::kDouble)));
  });
}

TEST_CASE("a loss that is not linear comes out as on one device", "[step_context]") {
  const at::Tensor rows = at::arange(1, 7, at::kDouble);
  const at::Tensor whole = rows.clone().requires_grad_();
  const at::Tensor expected = gradient_of(whole.square().sum().sqrt(), whole);
  Towers towers(3);
  towers.run([&](StepContext& context) {
    const at::Tensor mine = rows.narrow(0, 2 * context.tower_index(), 2).clone().requires_grad_();
    const at::Tensor loss = context.global_sum(mine.square().sum()).sqrt() / 3.0;
    TOWER_CHECK(at::allclose(gradient_of(loss, mine), expected.narrow(0, 2 * context.tower_index(), 2), 1e-14));
  });
}

TEST_CASE("the same global sum may be called in a loop", "[step_context]") {
  Towers towers(2);
  towers.run([](StepContext& context) {
    const at::Tensor x = at::ones({1}).requires_grad_();
    at::Tensor total = at::zeros({1});
    for (int i = 1; i <= 4; ++i) total = total + context.global_sum(x * i);
    TOWER_CHECK(total.item<float>() == 20);
    TOWER_CHECK(gradient_of(total.sum(), x).item<float>() == 20);
  });
}

TEST_CASE("global sums of different shapes or at different places are an error in every tower", "[step_context]") {
  Towers towers(2);
  const auto message_of = [&](StepContext& context, const std::function<void()>& work) {
    try {
      work();
      TOWER_CHECK(!"nothing was thrown");
    } catch (const Error& error) {
      TOWER_CHECK(error.kind() == ErrorKind::kFailedPrecondition);
      TOWER_CHECK(std::string(error.what()).find("tower 1") != std::string::npos);
      return std::string(error.what());
    }
    return std::to_string(context.tower_index());
  };
  std::string shapes[2], places[2], left;
  towers.run([&](StepContext& context) {
    const int64_t i = context.tower_index();
    shapes[i] = message_of(context, [&] { context.global_sum(at::ones({2 + i})); });
  });
  towers.run([&](StepContext& context) {
    const int64_t i = context.tower_index();
    places[i] =
        message_of(context, [&] { i == 0 ? context.global_sum(at::ones({1})) : context.global_sum(at::ones({1})); });
  });
  towers.run([&](StepContext& context) {
    if (context.tower_index() == 1) return;
    left = message_of(context, [&] { context.global_sum(at::ones({1})); });
  });
  for (const std::string& text : shapes) CHECK_THAT(text, Contains("[2]") && Contains("[3]"));
  for (const std::string& text : places) CHECK_THAT(text, Contains("step_context_test.cpp"));
  CHECK_THAT(left, Contains("returned"));
}

TEST_CASE("global_sum: a backward pass after its step is an error in words", "[step_context]") {
  Towers towers(2);
  std::vector<at::Tensor> kept(2);
  std::vector<at::Tensor> inputs(2);
  towers.run([&](StepContext& context) {
    const auto i = static_cast<size_t>(context.tower_index());
    inputs[i] = at::ones({2}).requires_grad_();
    kept[i] = context.global_sum(inputs[i] * 2).sum();
  });
  CHECK_THROWS_WITH(gradient_of(kept[0], inputs[0]), Contains("outside the step"));
  std::vector<std::string> messages(2);
  towers.run([&](StepContext& context) {
    const auto i = static_cast<size_t>(context.tower_index());
    try {
      gradient_of(kept[i], inputs[i]);
    } catch (const Error& error) {
      messages[i] = error.what();
    }
  });
  for (const std::string& message : messages) CHECK_THAT(message, Contains("outside the step"));
}

TEST_CASE("a tower may write to what it has summed at once", "[step_context]") {
  Towers towers(2);
  for (int step = 0; step < 50; ++step) {
    towers.run([](StepContext& context) {
      const at::Tensor x = at::ones({20000});
      const at::Tensor sum = context.global_sum(x);
      x.fill_(100);
      TOWER_CHECK(sum.max().item<float>() == 2);
    });
  }
}

TEST_CASE("sums of numbers meet by call site and occurrence", "[step_context]") {
  Towers towers(2);
  towers.run([](StepContext& context) {
    for (int i = 0; i < 3; ++i) {
      TOWER_CHECK(context.sum_over_towers(i + context.tower_index(), std::source_location::current()) == 2 * i + 1);
    }
    if (context.tower_index() == 0) {
      TOWER_CHECK(context.sum_over_towers(5, std::source_location::current()) == 5);
    }
    TOWER_CHECK(context.sum_over_towers(1, std::source_location::current()) == 2);
  });
}

TEST_CASE("assignments wait for the commit and keep the value of the call", "[step_context]") {
  Towers towers(2);
  towers.store.get_or_create("counter", VariableKind::kState, at::zeros({}));
  towers.store.get_or_create("last", VariableKind::kState, at::zeros({2}));
  StepContext a(towers.replicas.replica(0), {}), b(towers.replicas.replica(1), {});
  a.assign_add("counter", at::full({}, 2.0));
  b.assign_add("counter", at::full({}, 3.0));
  const at::Tensor value = at::ones({2});
  a.assign("last", at::zeros({2}));
  b.assign("last", value);
  value.fill_(9);
  CHECK(towers.store.find("counter")->value().item<float>() == 0);
  towers.replicas.commit({&a, &b});
  CHECK(towers.store.find("counter")->value().item<float>() == 5);
  CHECK(towers.store.find("last")->value().sum().item<float>() == 2);
}

TEST_CASE("an assignment to an unknown variable or of another shape is refused", "[step_context]") {
  Towers towers(1);
  towers.store.get_or_create("counter", VariableKind::kState, at::zeros({3}));
  StepContext context(towers.replicas.replica(0), {});
  CHECK_THROWS_WITH(context.assign("count", at::zeros({3})), Contains("'count'"));
  CHECK_THROWS_WITH(context.assign_add("counter", at::zeros({2})),
                    Contains("'counter'") && Contains("[3]") && Contains("[2]"));
  context.store().get_or_create("whole", VariableKind::kState, [] { return at::zeros({}, at::kLong); });
  CHECK_THROWS_WITH(context.assign("whole", at::full({}, 1.5)), Contains("'whole'") && Contains("would be lost"));
  CHECK(context.assignments().empty());
}
