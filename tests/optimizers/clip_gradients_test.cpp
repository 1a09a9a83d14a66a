#include "optimizers/clip_gradients.h"

#include <ATen/ATen.h>

#include <limits>

#include "core/error.h"
#include "tests/testing.h"

using belfry::GradientsAndVariables;
using Catch::Contains;

TEST_CASE("the global norm is over all gradients that are there", "[clip]") {
  const at::Tensor sparse = at::sparse_coo_tensor(at::tensor({1, 1}, at::kLong).unsqueeze(0),
                                                  torch::tensor({{1.0f, 2.0f}, {1.0f, 2.0f}}), {4, 2});
  const GradientsAndVariables gradients{{at::full({4}, 2.0)}, {at::Tensor()}, {sparse}};
  CHECK(belfry::global_norm(gradients).item<double>() == Approx(6));  // 16 + 4 + 16: duplicate rows are added first
  CHECK(belfry::global_norm({}).item<double>() == 0);
}

TEST_CASE("a norm below the limit leaves gradients as they are", "[clip]") {
  const at::Tensor gradient = at::tensor({3.0f, 4.0f});
  CHECK(at::equal(belfry::clip_by_global_norm({{gradient}}, 5)[0].gradient, gradient));
  CHECK(at::allclose(belfry::clip_by_global_norm({{gradient}}, 1)[0].gradient, gradient / 5));
  CHECK(at::equal(gradient, at::tensor({3.0f, 4.0f})));
}

TEST_CASE("clipping keeps row-sparse gradients sparse and absent ones absent", "[clip]") {
  const at::Tensor sparse =
      at::sparse_coo_tensor(at::tensor({1, 1}, at::kLong).unsqueeze(0), torch::tensor({{3.0f}, {3.0f}}), {4, 1});
  const auto clipped = belfry::clip_by_global_norm({{sparse}, {at::Tensor()}}, 2);
  CHECK(clipped[0].gradient.is_sparse());
  CHECK(clipped[0].gradient.to_dense()[1].item<float>() == Approx(2));
  CHECK_FALSE(clipped[1].gradient.defined());
  const auto limited = belfry::clip_by_value({{sparse}}, -1, 4);
  CHECK(limited[0].gradient.is_sparse());
  CHECK(limited[0].gradient.to_dense()[1].item<float>() == 4);
}

TEST_CASE("a norm that is not finite makes all gradients not a number", "[clip]") {
  const float infinity = std::numeric_limits<float>::infinity();
  const auto clipped = belfry::clip_by_global_norm({{at::ones({2})}, {at::full({1}, infinity)}}, 1);
  CHECK(clipped[0].gradient.isnan().all().item<bool>());
}

TEST_CASE("limits that cannot be are refused with their values", "[clip]") {
  CHECK_THROWS_WITH(belfry::clip_by_global_norm({}, 0), Contains("clip_norm is 0"));
  CHECK_THROWS_WITH(belfry::clip_by_global_norm({}, -2), Contains("-2"));
  CHECK_THROWS_WITH(belfry::clip_by_value({}, 2, 1), Contains("2") && Contains("1"));
}

TEST_CASE("clipping keeps the mark of combined gradients", "[clip]") {
  CHECK(belfry::clip_by_global_norm({{at::ones({2}), nullptr, true}}, 1)[0].combined);
  CHECK(belfry::clip_by_value({{at::ones({2}), nullptr, true}}, 0, 1)[0].combined);
}
