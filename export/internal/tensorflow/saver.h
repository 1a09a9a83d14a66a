// How a graph gets its variables from files.
#pragma once

#include "export/internal/tensorflow/graph_def_builder.h"

namespace belfry::internal {

// Operations that restore and save all variables of `out`, and where a loader finds them. A loader gives the prefix of
// the checkpoint, variables/variables, and runs the first of them. `keys` are the variables' names in there.
proto::SaverDef add_saver(GraphDefBuilder& out, const std::vector<std::string>& keys);

}  // namespace belfry::internal
