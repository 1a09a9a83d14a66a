// Readers that get bytes of any kind. The same targets are fed by fuzz_targets_test.cpp, with mutations of their seeds,
// and by libFuzzer where the compiler is Clang (libfuzzer_main.cpp).
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace belfry::fuzz {

struct FuzzTarget {
  const char* name;
  // True when the reader made something of the bytes, false when it refused them by an Error. Whatever else it throws
  // gets out, as does BrokenPromise for a result that cannot be right.
  bool (*run)(std::string_view bytes);
  // Bytes that the reader understands.
  std::vector<std::string> (*seeds)();
};

extern const FuzzTarget example_target;      // tf.Example messages
extern const FuzzTarget record_target;       // TFRecord files
extern const FuzzTarget checkpoint_target;   // an index and data of a checkpoint
extern const FuzzTarget saved_model_target;  // saved_model.pb
extern const FuzzTarget receiver_target;     // belfry_receiver.json of an export, and the work that it describes

class BrokenPromise : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

inline void promise(bool kept, const char* what) {
  if (!kept) throw BrokenPromise(what);
}

}  // namespace belfry::fuzz
