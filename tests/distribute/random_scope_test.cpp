#include "distribute/random_scope.h"

#include <ATen/ATen.h>

#include <functional>
#include <thread>

#include "tests/testing.h"

using belfry::RandomScope;

namespace {

struct RandomOperation {
  const char* name;
  std::function<at::Tensor()> run;
};

at::Tensor half() { return at::full({64}, 0.5); }

// One of each way in which LibTorch draws random numbers on the CPU.
std::vector<RandomOperation> operations() {
  return {
      {"rand", [] { return at::rand({64}); }},
      {"rand of doubles", [] { return at::rand({64}, at::kDouble); }},
      {"rand_like", [] { return at::rand_like(half()); }},
      {"randn", [] { return at::randn({64}); }},
      {"randn of a few", [] { return at::randn({3}); }},
      {"randn_like", [] { return at::randn_like(half()); }},
      {"randint", [] { return at::randint(1000, {64}); }},
      {"randint_like", [] { return at::randint_like(half(), 1000); }},
      {"randperm", [] { return at::randperm(64); }},
      {"dropout", [] { return at::dropout(at::ones({64}), 0.5, true); }},
      {"native_dropout", [] { return std::get<0>(at::native_dropout(at::ones({64}), 0.5, true)); }},
      {"feature_dropout",
       [] {
         return at::feature_dropout(at::ones({16, 16, 2}), 0.5, true);
       }},
      {"alpha_dropout", [] { return at::alpha_dropout(at::ones({64}), 0.5, true); }},
      {"bernoulli", [] { return at::bernoulli(half()); }},
      {"bernoulli with p", [] { return at::bernoulli(half(), 0.5); }},
      {"bernoulli_", [] { return half().bernoulli_(0.5); }},
      {"uniform_", [] { return half().uniform_(); }},
      {"normal_", [] { return half().normal_(); }},
      {"normal of tensors", [] { return at::normal(half(), half()); }},
      {"exponential_", [] { return half().exponential_(); }},
      {"geometric_", [] { return half().geometric_(0.1); }},
      {"cauchy_", [] { return half().cauchy_(); }},
      {"log_normal_", [] { return half().log_normal_(); }},
      {"random_", [] { return half().random_(0, 1000); }},
      {"poisson", [] { return at::poisson(half() * 50); }},
      {"binomial", [] { return at::binomial(half() * 200, half()); }},
      {"multinomial", [] { return at::multinomial(at::ones({64}), 32); }},
      {"multinomial with replacement", [] { return at::multinomial(at::ones({64}), 32, true); }},
      {"rrelu", [] { return at::rrelu(-half(), 0.1, 0.9, true); }},
      {"standard gamma", [] { return at::_standard_gamma(half()); }},
      {"dirichlet", [] { return at::_sample_dirichlet(half()); }},
      {"attention",
       [] {
         const at::Tensor q = at::ones({1, 2, 8, 4});
         return at::scaled_dot_product_attention(q, q, at::ones({1, 2, 8, 4}).cumsum(2), {}, 0.5);
       }},
  };
}

at::Tensor global_state() { return at::globalContext().defaultGenerator(at::kCPU).get_state(); }

}  // namespace

TEST_CASE("every random operation depends on the scope's seed alone", "[random]") {
  const at::Tensor before = global_state();
  for (const RandomOperation& operation : operations()) {
    INFO(operation.name);
    const auto draw = [&](uint64_t seed) {
      const RandomScope scope(seed);
      return operation.run();
    };
    const at::Tensor first = draw(7);
    CHECK(at::equal(first, draw(7)));
    CHECK_FALSE(at::equal(first, draw(8)));
    CHECK(at::equal(before, global_state()));
  }
}

TEST_CASE("draws within a scope differ, and go on after an inner scope", "[random]") {
  at::Tensor plain_first, plain_second;
  {
    const RandomScope scope(3);
    plain_first = at::rand({8});
    plain_second = at::rand({8});
  }
  CHECK_FALSE(at::equal(plain_first, plain_second));
  const RandomScope scope(3);
  CHECK(at::equal(at::rand({8}), plain_first));
  {
    const RandomScope inner(4);
    at::rand({100});
    const RandomScope innermost(3);
    CHECK(at::equal(at::rand({8}), plain_first));
  }
  CHECK(at::equal(at::rand({8}), plain_second));
}

TEST_CASE("without a scope the global generator is used as ever", "[random]") {
  { const RandomScope scope(3); }
  at::manual_seed(11);
  const at::Tensor first = at::rand({8});
  at::manual_seed(11);
  CHECK(at::equal(at::rand({8}), first));
}

TEST_CASE("a generator that is given is used inside a scope", "[random]") {
  auto draw = [](uint64_t scope_seed) {
    const RandomScope scope(scope_seed);
    at::Generator own = at::globalContext().defaultGenerator(at::kCPU).clone();
    own.set_current_seed(5);
    return at::rand({8}, own);
  };
  CHECK(at::equal(draw(1), draw(2)));
}

TEST_CASE("threads with scopes of their own do not disturb each other", "[random]") {
  const auto draw = [](uint64_t seed) {
    const RandomScope scope(seed);
    at::Tensor all = at::rand({16});
    for (int i = 0; i < 50; ++i) all = all + at::dropout(at::randn({16}), 0.5, true);
    return all;
  };
  const at::Tensor expected[] = {draw(0), draw(1)};
  at::Tensor drawn[2];
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 2; ++i) threads.emplace_back([&, i] { drawn[i] = draw(i); });
  for (std::thread& thread : threads) thread.join();
  CHECK(at::equal(drawn[0], expected[0]));
  CHECK(at::equal(drawn[1], expected[1]));
  CHECK_FALSE(at::equal(drawn[0], drawn[1]));
}

TEST_CASE("operations inside a scope are differentiable", "[random]") {
  const RandomScope scope(1);
  const at::Tensor x = at::ones({1000}).requires_grad_();
  const at::Tensor y = at::dropout(x, 0.25, true);
  y.sum().backward();
  CHECK(at::equal(x.grad(), y.detach()));
}

TEST_CASE("native_dropout inside a scope keeps about 1 - p, scales it, and gives its mask", "[random]") {
  const RandomScope scope(1);
  const at::Tensor x = at::full({1000}, 3.0).requires_grad_();
  const auto [kept, mask] = at::native_dropout(x, 0.25, true);
  kept.sum().backward();
  CHECK(at::allclose(kept, mask * 4.0));
  CHECK(at::allclose(x.grad(), mask * (4.0 / 3)));
  CHECK(mask.count_nonzero().item<int64_t>() > 650);
  CHECK(mask.count_nonzero().item<int64_t>() < 850);
  CHECK(at::equal(std::get<0>(at::native_dropout(x, 0.25, false)), x));
}

TEST_CASE("attention inside a scope is what it is outside, but for what drops out", "[random]") {
  const at::Tensor q = at::sin(at::arange(64.0)).view({1, 2, 8, 4});
  const at::Tensor v = at::cos(at::arange(64.0)).view({1, 2, 8, 4});
  const at::Tensor mask = at::ones({8, 8}, at::kBool).tril();
  const at::Tensor expected = at::scaled_dot_product_attention(q, q, v, mask);
  const at::Tensor causal = at::scaled_dot_product_attention(q, q, v, {}, 0, true);
  const RandomScope scope(1);
  constexpr double kNever = 1e-12;  // so small that nothing drops out
  CHECK(at::allclose(at::scaled_dot_product_attention(q, q, v, mask), expected));
  CHECK(at::allclose(at::scaled_dot_product_attention(q, q, v, mask, kNever), expected));
  CHECK(at::allclose(at::scaled_dot_product_attention(q, q, v, {}, kNever, true), causal));
  CHECK_FALSE(at::allclose(at::scaled_dot_product_attention(q, q, v, mask, 0.5), expected));
}
