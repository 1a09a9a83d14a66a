// Dataset::auto_shard, and the place holder for it.
#pragma once

#include "data/dataset_options.h"
#include "data/internal/node.h"

namespace belfry::data_internal {

// Dataset::shard(kShardHint, kShardHint): cannot be read before auto_shard has put a shard in its place.
NodePtr make_shard_hint(NodePtr input);

// What worker `index` of `workers` reads of a pipeline. See Dataset::auto_shard for the errors.
NodePtr auto_shard(const NodePtr& node, AutoShardPolicy policy, int64_t workers, int64_t index);

}  // namespace belfry::data_internal
