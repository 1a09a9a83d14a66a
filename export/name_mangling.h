// Names of variables and features as Python identifiers, and back.
#pragma once

#include <string>
#include <string_view>

namespace belfry {

// '/' becomes "__"; every other byte that an identifier cannot hold, an underscore that would read as one of these, and
// the first letter of a word that TorchScript reserves become "_x" and two hex digits. Two names never become the same:
// dnn/hiddenlayer_0/kernel is dnn__hiddenlayer_0__kernel.
std::string mangle_name(std::string_view name);

// The name that mangle_name() made `identifier` of; kInvalidArgument when it made none.
std::string demangle_name(std::string_view identifier);

}  // namespace belfry
