// What stands for strings where an element type is wanted.
#pragma once

#include <c10/core/ScalarType.h>

namespace belfry {

// c10::ScalarType has no strings: what stands for them in specs.
inline constexpr c10::ScalarType kString = c10::ScalarType::Undefined;

// "Float", "Long" and so on; "String" for kString.
inline const char* dtype_text(c10::ScalarType dtype) { return dtype == kString ? "String" : c10::toString(dtype); }

}  // namespace belfry
