// Runs a traced graph beside the function that it was traced from.
#pragma once

#include "export/trace.h"

namespace belfry::internal {

// Compares trace.graph with the function at other numbers of rows, on new data from `generator`: shapes and dtypes
// exactly, numbers to 1e-5 relative. kUnimplemented, with the output, the rows and both values, where they differ.
void replay(const Trace& trace, const TraceRequest& request, at::Generator generator);

}  // namespace belfry::internal
