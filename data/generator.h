// A user's own source of elements.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "batch.h"

namespace belfry {

// One pass over a source that the user programs. Made anew for each pass by the function given to
// Dataset::from_generator. Under Dataset::prefetch its functions are called by the background thread, never by two
// threads at once.
class Generator {
 public:
  using Next = std::function<std::optional<Batch>()>;  // the next element; nothing at the end
  using Save = std::function<std::string()>;           // where the pass stands, as bytes
  using Restore = std::function<void(const std::string&)>;

  // Without save and restore a position is found again by a replay: all elements before it are made once more.
  template <class Function>
  requires std::is_invocable_r_v<std::optional<Batch>, Function&> Generator(Function next)
      : next_(std::move(next)) {}  // NOLINT(google-explicit-constructor)

  // `restore(save())` on a fresh generator has to bring back the same remaining elements. `save` is called once for
  // each position asked for, once a window where a shuffle follows, and once an element where a prefetch does.
  // kInvalidArgument if only one is given.
  Generator(Next next, Save save, Restore restore);

  std::optional<Batch> next() { return next_(); }
  bool can_restore() const { return save_ != nullptr; }
  std::string save() const { return save_(); }
  void restore(const std::string& position) { restore_(position); }

 private:
  Next next_;
  Save save_;
  Restore restore_;
};

struct GeneratorOptions {
  // Stands in messages and in Dataset::fingerprint, where it is all that tells two generators apart.
  std::string name = "generator";
  // True when each element is a batch already, with the examples along dimension 0.
  bool batched = false;
};

}  // namespace belfry
