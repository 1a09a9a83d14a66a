// Joins what towers show to the outside.
#pragma once

#include <string>
#include <vector>

#include "core/tensor_dict.h"
#include "export/export_output.h"

namespace belfry::internal {

// Entry by entry along dimension 0, in tower order, on tower 0's device. kInvalidArgument, with the name, for a scalar;
// kFailedPrecondition, naming the tower as a `noun`, where kind, dtype or the shape of a row differs.
Predictions merge_predictions(const std::vector<Predictions>& towers, const std::string& noun = "tower");
// Every kind of output along dimension 0, classes too. kFailedPrecondition, naming the tower and the signature, when
// one is missing, too many or of another kind.
ExportOutputs merge_exports(const std::vector<ExportOutputs>& towers, const std::string& noun = "tower");

}  // namespace belfry::internal
