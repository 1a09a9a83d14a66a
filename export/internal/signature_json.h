// The description of an exported model that lies inside its file.
#pragma once

#include <string>
#include <vector>

#include "export/torchscript_writer.h"

namespace belfry::internal {

// The method of the module that computes a signature.
std::string method_name(const TracedSignature& signature);

// See torchscript_bytes.
std::string signature_json(const Trace& trace, const std::vector<TracedSignature>& signatures);

}  // namespace belfry::internal
