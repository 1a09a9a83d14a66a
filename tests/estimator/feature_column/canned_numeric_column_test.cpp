// Numeric columns against tf.feature_column's.
#include "distribute/replica_set.h"
#include "estimator/feature_column/numeric_column.h"
#include "estimator/model_context.h"
#include "tests/support/reference.h"
#include "tests/testing.h"

#include <ATen/ATen.h>

using namespace belfry;
using belfry::feature_column::numeric_column;

TEST_CASE("canned: numeric columns give TensorFlow's numbers", "[columns][E98]") {
  const auto json = testing::reference("canned")["feature_columns"];
  const Features features{{"a", testing::to_tensor(json["raw"]["a"])}, {"b", testing::to_tensor(json["raw"]["b"])}};
  VariableStore store(1);
  ReplicaSet replicas(store);
  const RunConfig config;
  ModelContext ctx(replicas, 0, ModeKeys::kPredict, config, {});
  const auto check = [&](const char* name, const std::shared_ptr<const NumericColumn>& column) {
    INFO(name << ": " << json["columns"][name]["description"]);
    testing::check_close(column->dense(features, ctx), json["columns"][name]["dense"]);
  };
  check("numeric", numeric_column("a"));
  check("numeric_vec", numeric_column("b", {.shape = {features["b"].size(1)}}));
  check("numeric_normalizer", numeric_column("a", {.normalizer_fn = [](const at::Tensor& a) { return (a - 1) / 2; }}));
}
