// A value that is another one on each replica.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <ostream>
#include <type_traits>
#include <utility>
#include <vector>

#include "../core/error.h"
#include "is_same.h"

namespace belfry {

// TensorFlow's DistributedValues: one component for each replica, in replica order. What `Strategy::run` returns and
// hands to its function by component; it cannot be computed with outside a replica. A value; threads may read one
// object at the same time.
template <class T>
class PerReplica {
 public:
  using value_type = T;
  // const T&, but for bool a bool.
  using const_reference = typename std::vector<T>::const_reference;

  // kInvalidArgument when there are none.
  explicit PerReplica(std::vector<T> components) : components_(std::move(components)) {
    require(!components_.empty(), "PerReplica: there has to be a component for each replica; none was given");
  }

  size_t size() const { return components_.size(); }
  // kInvalidArgument, with both numbers, when there is no such replica.
  const_reference at(size_t replica) const {
    require(replica < size(), "PerReplica: component ", replica, " of ", size(), " was asked for");
    return components_[replica];
  }
  const_reference operator[](size_t replica) const { return at(replica); }
  const std::vector<T>& components() const { return components_; }
  auto begin() const { return components_.begin(); }
  auto end() const { return components_.end(); }

  // Whether every replica has the same: of structures (see core/nested.h) the same tensors, not merely equal ones, at
  // the same places; of anything else what is equal. Where neither is known of T, false.
  bool is_same_on_all() const {
    for (const auto& component : components_) {
      if (!internal::is_same<T>(component, components_[0])) return false;
    }
    return true;
  }

  // function(component) of each.
  template <class Function>
  auto map(Function&& function) const {
    std::vector<std::decay_t<std::invoke_result_t<Function&, const T&>>> mapped;
    mapped.reserve(size());
    for (const auto& component : components_) mapped.push_back(function(component));
    return PerReplica<typename decltype(mapped)::value_type>(std::move(mapped));
  }

 private:
  std::vector<T> components_;
};

// "PerReplica:{" and one line for each: "  0: …".
template <class T>
std::ostream& operator<<(std::ostream& out, const PerReplica<T>& value) {
  out << "PerReplica:{";
  for (size_t replica = 0; replica < value.size(); ++replica) {
    out << (replica == 0 ? "\n  " : ",\n  ") << replica << ": " << value[replica];
  }
  return out << "\n}";
}

}  // namespace belfry
