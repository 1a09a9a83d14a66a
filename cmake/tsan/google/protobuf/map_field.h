// In front of protobuf's own header in builds with ThreadSanitizer, where that gives its maps two more members, which the
// library of the system was compiled without: reflection (text format) would read beside the maps.
#pragma once

// What it includes of the standard library stays as the rest of the program sees it.
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <unordered_map>

#pragma push_macro("__SANITIZE_THREAD__")
#undef __SANITIZE_THREAD__
#include_next <google/protobuf/map_field.h>
#pragma pop_macro("__SANITIZE_THREAD__")
