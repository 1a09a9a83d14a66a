// Where the random operations of a replica draw from.
#pragma once

#include <cstdint>
#include <memory>

namespace belfry {

// While it lives, every random operation of this thread that is given no generator, those inside torch::nn modules
// included, draws from a generator of the scope, seeded with `seed`, one for each device type. The process's global
// generator is neither read nor moved. Scopes nest; a scope is used by the thread that made it.
class RandomScope {
 public:
  explicit RandomScope(uint64_t seed);
  ~RandomScope();
  RandomScope(const RandomScope&) = delete;
  RandomScope& operator=(const RandomScope&) = delete;

  // Whether an operation has drawn from it.
  bool was_drawn_from() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace belfry
