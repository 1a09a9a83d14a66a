#include "optimizers/update_committer.h"

#include "core/error.h"
#include "core/log.h"
#include "optimizers/adagrad.h"
#include "optimizers/adam.h"
#include "optimizers/gradient_descent.h"
#include "optimizers/momentum.h"
#include "tests/optimizers/training.h"
#include "tests/testing.h"

using belfry::Adam;
using belfry::GradientDescent;
using belfry::Optimizer;
using belfry::StepContext;
using belfry::testing::Training;
using Catch::Contains;

namespace {

at::Tensor pattern(at::IntArrayRef shape, double seed, at::ScalarType dtype = at::kDouble) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return at::sin(at::arange(count, at::kDouble) * seed + seed).to(dtype).view(shape);
}

at::Tensor channels_last(const at::Tensor& image) { return image.contiguous(at::MemoryFormat::ChannelsLast); }

std::vector<Optimizer> optimizers() {
  return {GradientDescent({.learning_rate = 0.1}), belfry::Momentum({.learning_rate = 0.1, .use_nesterov = true}),
          belfry::Adagrad({.learning_rate = 0.1}), Adam({.learning_rate = 0.1})};
}

// Three steps over variables of many shapes. Tower 0 alone has gradients, so that sums do not depend on the towers.
belfry::TensorDict train(const Optimizer& optimizer, int towers, at::ScalarType dtype) {
  Training training(towers);
  for (int step = 0; step < 3; ++step) {
    training.step([&](StepContext& context) {
      belfry::GradientsAndVariables gradients;
      const auto add = [&](const std::string& name, const at::Tensor& initial, const at::Tensor& gradient) {
        Training::variable(context, name, initial);
        const bool mine = context.tower_index() == 0;
        gradients.push_back({mine ? gradient : at::Tensor(), context.store().find(name)});
      };
      const double t = step + 1.5;
      add("matrix", pattern({37, 29}, 0.3, dtype), pattern({29, 37}, t, dtype).t());
      add("image", channels_last(pattern({5, 3, 4, 4}, 0.7, dtype)), pattern({5, 3, 4, 4}, t, dtype));
      add("bias", pattern({7}, 0.2, dtype), at::full({1}, t, dtype).expand({7}));
      add("scalar", pattern({}, 0.2, dtype), pattern({}, t, dtype));
      add("empty", at::zeros({0, 3}, dtype), at::zeros({0, 3}, dtype));
      add("large", pattern({9973}, 0.4, dtype), pattern({9973}, t, dtype));
      optimizer.apply_gradients(std::move(gradients), context);
    });
  }
  return training.store.snapshot();
}

// What each tower of two calls, as (calls of tower 0, calls of tower 1).
std::string message_of_calls(int first, int second) {
  Training training(2);
  try {
    training.step([&](StepContext& context) {
      const at::Tensor c = Training::variable(context, "c", at::full({}, 10.0));
      const int calls = context.tower_index() == 0 ? first : second;
      for (int i = 0; i < calls; ++i) GradientDescent({.name = "opt" + std::to_string(i)}).minimize(c, context);
    });
  } catch (const belfry::Error& error) {
    CHECK(error.kind() == belfry::ErrorKind::kFailedPrecondition);
    CHECK(training.value("c").item<float>() == 10);
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("an update shared out over towers equals the one that is not, to the bit", "[committer]") {
  for (const Optimizer& optimizer : optimizers()) {
    for (const at::ScalarType dtype : {at::kDouble, at::kFloat}) {
      const belfry::TensorDict alone = train(optimizer, 1, dtype);
      for (int towers = 2; towers <= 5; ++towers) {
        const belfry::TensorDict shared = train(optimizer, towers, dtype);
        REQUIRE(shared.names() == alone.names());
        for (const auto& [name, value] : alone) {
          INFO(optimizer.name() << " " << name << " " << towers << " towers, " << dtype);
          CHECK(at::equal(value.tensor(), shared[name]));
        }
      }
    }
  }
}

TEST_CASE("long variables take what towers' gradients add up to, to the bit", "[committer]") {
  constexpr int64_t kLong = 400'001;  // more than the pieces that are added up at a time
  const auto gradient_of = [](int tower) { return pattern({kLong}, 0.3 + tower, at::kFloat); };
  const at::Tensor sum = gradient_of(0) + gradient_of(1) + gradient_of(2);
  for (const Optimizer& optimizer : optimizers()) {
    INFO(optimizer.name());
    Training three(3), two_shares(2), one;
    const auto step = [&](Training& training, const std::function<at::Tensor(int)>& gradient) {
      training.step([&](StepContext& context) {
        Training::variable(context, "long", pattern({kLong}, 0.7, at::kFloat));
        optimizer.apply_gradients({{gradient(context.tower_index()), context.store().find("long")}}, context);
      });
    };
    for (int k = 0; k < 2; ++k) {
      step(three, gradient_of);
      step(one, [&](int) { return sum; });
      step(two_shares, [&](int tower) { return tower == 0 ? gradient_of(0) + gradient_of(1) : gradient_of(2); });
    }
    for (const auto& [name, value] : one.store.snapshot()) {
      INFO(name);
      CHECK(at::equal(three.value(name), value.tensor()));
      CHECK(at::equal(two_shares.value(name), value.tensor()));
    }
  }
}

TEST_CASE("layouts of gradients do not matter", "[committer]") {
  for (const Optimizer& optimizer : optimizers()) {
    Training plain, strided;
    const at::Tensor image = pattern({4, 3, 2, 2}, 0.3);
    const at::Tensor gradient = pattern({4, 3, 2, 2}, 1.3);
    const auto step = [&](Training& training, const at::Tensor& initial, const at::Tensor& g) {
      training.step([&](StepContext& context) {
        Training::variable(context, "w", initial);
        optimizer.apply_gradients({{g, context.store().find("w")}}, context);
      });
    };
    step(plain, image, gradient);
    step(strided, channels_last(image), gradient.permute({3, 2, 1, 0}).contiguous().permute({3, 2, 1, 0}));
    CHECK(strided.value("w").is_contiguous(at::MemoryFormat::ChannelsLast));
    CHECK(at::allclose(plain.value("w"), strided.value("w"), 1e-14, 1e-14));
  }
}

TEST_CASE("towers' gradients are added up, absent ones left out", "[committer][R11]") {
  Training training(2);
  training.step([](StepContext& context) {
    const at::Tensor c = Training::variable(context, "c", at::full({}, 10.0));
    const at::Tensor d = Training::variable(context, "d", at::full({}, 10.0));
    const at::Tensor e = Training::variable(context, "e", at::full({}, 10.0));
    GradientDescent({.learning_rate = 1}).minimize(context.tower_index() == 0 ? 3 * c + e : 7 * d + e, context);
  });
  CHECK(training.value("c").item<float>() == 7);
  CHECK(training.value("d").item<float>() == 3);
  CHECK(training.value("e").item<float>() == 8);
}

TEST_CASE("row-sparse gradients of towers are joined, also beside a dense one", "[committer][R11]") {
  const auto rows = [](std::vector<int64_t> rows, double value) {
    const auto count = static_cast<int64_t>(rows.size());
    return at::sparse_coo_tensor(at::tensor(rows).unsqueeze(0), at::full({count, 2}, value), {4, 2});
  };
  for (int dense_tower = -1; dense_tower < 2; ++dense_tower) {
    for (const Optimizer& optimizer : optimizers()) {
      INFO(optimizer.name() << ", dense in tower " << dense_tower);
      Training training(2), expected;
      const at::Tensor initial = pattern({4, 2}, 0.4, at::kFloat);
      const at::Tensor gradients[2] = {rows({0, 2, 2}, 1), rows({2, 3}, 0.5)};
      training.step([&](StepContext& context) {
        Training::variable(context, "w", initial);
        const int tower = context.tower_index();
        const at::Tensor mine = tower == dense_tower ? gradients[tower].to_dense() : gradients[tower];
        optimizer.apply_gradients({{mine, context.store().find("w")}}, context);
      });
      expected.step([&](StepContext& context) {
        Training::variable(context, "w", initial);
        optimizer.apply_gradients({{gradients[0].to_dense() + gradients[1].to_dense(), context.store().find("w")}},
                                  context);
      });
      CHECK(at::allclose(training.value("w"), expected.value("w"), 1e-6, 1e-6));
    }
  }
}

TEST_CASE("a gradient that is sparse in more than rows is taken too", "[committer]") {
  Training training;
  training.step([](StepContext& context) {
    Training::variable(context, "w", at::zeros({2, 2}));
    GradientDescent({.learning_rate = 1})
        .apply_gradients({{at::eye(2).to_sparse(), context.store().find("w")}}, context);
  });
  CHECK(at::equal(training.value("w"), -at::eye(2)));
}

TEST_CASE("towers that make different calls are told which tower and call", "[committer][R13]") {
  belfry::set_log_level(belfry::LogLevel::kOff);
  CHECK(message_of_calls(1, 1) == "no error");
  CHECK(message_of_calls(2, 2) == "no error");
  CHECK_THAT(message_of_calls(2, 1),
             Contains("call 2 of tower 0 is minimize of opt1") && Contains("of tower 1 nothing"));
  CHECK_THAT(message_of_calls(1, 2),
             Contains("call 2 of tower 0 is nothing") && Contains("of tower 1 minimize of opt1"));
  CHECK_THAT(message_of_calls(3, 1),
             Contains("call 2 of tower 0 is minimize of opt1") && Contains("of tower 1 nothing"));
  CHECK_THAT(message_of_calls(2, 0),
             Contains("call 1 of tower 0 is minimize of opt0") && Contains("of tower 1 nothing"));
  CHECK_THAT(message_of_calls(0, 1),
             Contains("call 1 of tower 0 is nothing") && Contains("of tower 1 minimize of opt0"));
  belfry::set_log_level(belfry::LogLevel::kInfo);
}

TEST_CASE("the same calls in another order are an error", "[committer][R13]") {
  Training training(2);
  CHECK_THROWS_WITH(training.step([](StepContext& context) {
    const at::Tensor c = Training::variable(context, "c", at::full({}, 10.0));
    const bool first = context.tower_index() == 0;
    GradientDescent({.name = first ? "a" : "b"}).minimize(c, context);
    GradientDescent({.name = first ? "b" : "a"}).minimize(c, context);
  }),
                    Contains("call 1 of tower 0 is minimize of a") && Contains("of tower 1 minimize of b"));
}

TEST_CASE("gradients absent in all towers are an error", "[committer]") {
  Training training(2);
  CHECK_THROWS_WITH(training.step([](StepContext& context) {
    Training::variable(context, "c", at::full({}, 10.0));
    GradientDescent().minimize(at::ones({}), context);
  }),
                    Contains("in no tower"));
}

TEST_CASE("two optimizers that would share a slot are asked for names", "[committer]") {
  Training training;
  const auto step = [&](const std::string& second) {
    training.step([&](StepContext& context) {
      const at::Tensor c = Training::variable(context, "c", at::full({}, 10.0));
      Adam().minimize(c, context);
      Adam({.name = second}).minimize(c, context);
    });
  };
  CHECK_THROWS_WITH(step(""), Contains("'c'") && Contains(".name"));
  CHECK(training.value("c").item<float>() == 10);
  CHECK_NOTHROW(step("other"));
}

TEST_CASE("optimizers of one name on different variables count a step once", "[committer][E113]") {
  Training apart, together;
  for (int i = 0; i < 3; ++i) {
    together.step([](StepContext& context) {
      const at::Tensor c = Training::variable(context, "c", at::full({}, 10.0));
      const at::Tensor d = Training::variable(context, "d", at::full({}, 10.0));
      Adam().minimize(c.square() + d.square(), context);
    });
    apart.step([](StepContext& context) {
      const at::Tensor c = Training::variable(context, "c", at::full({}, 10.0));
      const at::Tensor d = Training::variable(context, "d", at::full({}, 10.0));
      Adam().minimize(c.square(), context, {.var_list = {"c"}});
      Adam().minimize(d.square(), context, {.var_list = {"d"}});
    });
  }
  CHECK(apart.value("belfry/training/Adam/iterations").item<int64_t>() == 3);
  CHECK(at::equal(apart.value("c"), together.value("c")));
  CHECK(at::equal(apart.value("d"), together.value("d")));
}

TEST_CASE("a name may change its rule between steps", "[committer]") {
  Training training;
  for (const Optimizer& optimizer : {Optimizer(belfry::Momentum({.name = "x"})), Optimizer(Adam({.name = "x"})),
                                     Optimizer(GradientDescent({.name = "x"}))}) {
    CHECK_NOTHROW(training.step([&](StepContext& context) {
      optimizer.minimize(Training::variable(context, "c", at::full({}, 10.0)), context);
    }));
  }
}

TEST_CASE("losses that skip variables from step to step keep every slot", "[committer]") {
  Training training;
  for (int i = 0; i < 200; ++i) {
    training.step([&](StepContext& context) {
      at::Tensor loss = at::zeros({});
      for (int k = 0; k < 7; ++k) {
        const at::Tensor c = Training::variable(context, "c" + std::to_string(k), at::full({}, 10.0));
        if (((i % 127 + 1) >> k) & 1) loss = loss + c;
      }
      belfry::Momentum({.learning_rate = 0, .momentum = 0.5}).minimize(loss, context);
    });
  }
  CHECK(training.value("training/Momentum/c0/momentum").item<float>() == Approx(2));
}

TEST_CASE("a counter that a checkpoint lacks goes on from the global step, where its slots came along",
          "[committer][E113]") {
  const auto resume = [](bool with_slots) {
    Training training;
    belfry::TensorDict checkpoint{{"global_step", at::full({}, 41, at::kLong)}, {"c", at::full({}, 10.0)}};
    if (with_slots) {
      checkpoint.set("training/Adam/c/m", at::full({}, 0.5));
      checkpoint.set("training/Adam/c/v", at::full({}, 0.5));
    }
    training.store.restore(checkpoint, "model-41");
    training.step(
        [](StepContext& context) { Adam().minimize(Training::variable(context, "c", at::full({}, 10.0)), context); });
    return training.value("belfry/training/Adam/iterations").item<int64_t>();
  };
  CHECK(resume(true) == 42);
  CHECK(resume(false) == 1);
}

TEST_CASE("a commit moves versions, so that leaves of other devices are refreshed", "[committer]") {
  Training training;
  const auto step = [&] {
    training.step([](StepContext& context) {
      GradientDescent().minimize(Training::variable(context, "c", at::full({}, 10.0)), context);
    });
  };
  step();
  const uint64_t version = training.store.find("c")->version();
  step();
  CHECK(training.store.find("c")->version() == version + 1);
}
