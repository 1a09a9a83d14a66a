#include "data/input_context.h"

#include "tests/data/support.h"

using namespace belfry;
using belfry::testing::kind_of;
using Catch::Contains;

TEST_CASE("a global batch is divided among the replicas", "[data][S36]") {
  CHECK(InputContext().get_per_replica_batch_size(7) == 7);
  const InputContext context{.num_input_pipelines = 2, .input_pipeline_id = 1, .num_replicas_in_sync = 4};
  CHECK(context.get_per_replica_batch_size(12) == 3);
  CHECK(context.get_per_replica_batch_size(0) == 0);
  CHECK_THROWS_WITH(context.get_per_replica_batch_size(10), Contains("10") && Contains("4"));
  CHECK(kind_of([&] { context.get_per_replica_batch_size(-4); }) == ErrorKind::kInvalidArgument);
}
