// Files that tests read.
#pragma once

#include <string>

namespace belfry::testing {

// The path of a file below tests/. Compiled in one place (main.cpp), since it differs from clone to clone.
std::string test_data(const std::string& path);

}  // namespace belfry::testing
