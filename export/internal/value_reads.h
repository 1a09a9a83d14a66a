// Notices what a trace cannot hold: a model that looks at values of its features.
#pragma once

#include <ATen/record_function.h>

#include <memory>
#include <set>
#include <string>

#include "export/internal/graph_text.h"

namespace belfry::internal {

// While it lives, calls on this thread that hand a tensor's value to C++ (item() and what is made of it) are noted,
// where the tensor is being traced and computed from a feature. One at a time on a thread.
class ValueReads {
 public:
  // `names` has to outlive this object.
  explicit ValueReads(const VariableNames& names);
  ~ValueReads();
  ValueReads(const ValueReads&) = delete;
  ValueReads& operator=(const ValueReads&) = delete;

  // What computed the tensors: "aten::max, near variable 'net/weight'".
  const std::set<std::string>& places() const { return places_; }

 private:
  static std::unique_ptr<at::ObserverContext> note(const at::RecordFunction& call);

  const VariableNames& names_;
  at::CallbackHandle handle_;
  std::set<std::string> places_;
};

}  // namespace belfry::internal
