#include "estimator/feature_column/numeric_column.h"

#include <ATen/ATen.h>

#include "distribute/replica_set.h"
#include "estimator/feature_column/input_layer.h"
#include "estimator/model_context.h"
#include "tests/support/check_fails.h"
#include "tests/testing.h"

using namespace belfry;
using namespace belfry::feature_column;

namespace {

// What columns want beside features.
struct Step {
  VariableStore store{1};
  ReplicaSet replicas{store};
  RunConfig config;
  ModelContext ctx{replicas, 0, ModeKeys::kPredict, config, {}};
};

}  // namespace

TEST_CASE("a numeric column casts, normalizes and flattens", "[columns][E98]") {
  Step step;
  const Features features{{"x", at::arange(12, at::kLong).reshape({2, 3, 2})}};
  const auto column =
      numeric_column("x", {.shape = {3, 2}, .normalizer_fn = [](const at::Tensor& x) { return x / 2; }});
  CHECK(column->width() == 6);
  CHECK(column->dense(features, step.ctx).equal(at::arange(12, at::kFloat).reshape({2, 6}) / 2));
  CHECK(numeric_column("y")->dense({{"y", at::tensor({1.0, 2.0})}}, step.ctx).equal(at::tensor({1.0F, 2.0F}).unsqueeze(1)));
}

TEST_CASE("the input layer joins columns in the order of their names", "[columns][E110]") {
  Step step;
  const Features features{{"b", at::full({2, 2}, 2.0)}, {"a", at::full({2}, 1.0)}};
  const DenseColumns columns = sorted_by_name({numeric_column("b", {.shape = {2}}), numeric_column("a")});
  CHECK(total_width(columns) == 3);
  CHECK(input_layer(features, columns, step.ctx).equal(at::tensor({1.0F, 2.0F, 2.0F}).repeat({2, 1})));
  const Features uneven{{"b", at::full({3, 2}, 2.0)}, {"a", at::full({2}, 1.0)}};
  CHECK_FAILS(input_layer(uneven, columns, step.ctx), ErrorKind::kInvalidArgument,
              "'a' and 'b' differ in rows: 2 and 3");
}

TEST_CASE("features that do not fit a numeric column are named", "[columns][E98]") {
  Step step;
  const auto column = numeric_column("x", {.shape = {2}});
  CHECK_FAILS(column->dense({{"y", at::zeros({1, 2})}}, step.ctx), ErrorKind::kNotFound, "'x'");
  CHECK_FAILS(column->dense({{"x", at::zeros({4, 3})}}, step.ctx), ErrorKind::kInvalidArgument, "[4, 3]");
  CHECK_FAILS(column->dense({{"x", at::zeros({4})}}, step.ctx), ErrorKind::kInvalidArgument, "[4]");
  CHECK_FAILS(column->dense({{"x", StringTensor({"1"})}}, step.ctx), ErrorKind::kInvalidArgument, "strings");
  const auto sums = numeric_column("x", {.shape = {2}, .normalizer_fn = [](const at::Tensor& x) { return x.sum(1); }});
  CHECK_FAILS(sums->dense({{"x", at::zeros({4, 2})}}, step.ctx), ErrorKind::kInvalidArgument, "normalizer_fn");
}

TEST_CASE("columns that cannot be right are named", "[columns][E98]") {
  CHECK_FAILS(numeric_column(""), ErrorKind::kInvalidArgument, "key is empty");
  CHECK_FAILS(numeric_column("x", {.shape = {2, 0}}), ErrorKind::kInvalidArgument, "[2, 0]");
  CHECK_FAILS(numeric_column("x", {.shape = {}}), ErrorKind::kInvalidArgument, "shape is empty");
  CHECK_FAILS(sorted_by_name({nullptr}), ErrorKind::kInvalidArgument, "null");
}
