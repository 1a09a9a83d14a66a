// A tower in messages.
#pragma once

#include <cstddef>
#include <ostream>
#include <string>

namespace belfry::internal {

// "tower 3"; under a strategy "replica 3". Refers to the noun (ReplicaSet::noun).
struct NamedTower {
  const std::string& noun;
  size_t index;

  NamedTower first() const { return {noun, 0}; }
};

inline std::ostream& operator<<(std::ostream& out, const NamedTower& tower) {
  return out << tower.noun << " " << tower.index;
}

}  // namespace belfry::internal
