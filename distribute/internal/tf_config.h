// The JSON of the environment variable TF_CONFIG.
#pragma once

#include <string>

#include "distribute/cluster_resolver.h"

namespace belfry::internal {

// What the text says. Errors as TfConfigClusterResolver's.
SimpleClusterResolver parse_tf_config(const std::string& text);

}  // namespace belfry::internal
