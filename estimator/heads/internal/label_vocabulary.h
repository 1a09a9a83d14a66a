// The names of a head's classes.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/string_tensor.h"

namespace belfry::internal {

// Immutable; threads may share it.
class LabelVocabulary {
 public:
  // kInvalidArgument unless `names` is empty (then a class is named by its number, and labels are numbers) or holds
  // `classes` different names.
  LabelVocabulary(int64_t classes, std::vector<std::string> names);

  bool takes_strings() const { return !ids_.empty(); }
  int64_t size() const { return static_cast<int64_t>(names_.size()); }
  const std::vector<std::string>& names() const { return names_; }

  // int64 ids in the shape of `labels`. kOutOfRange, with the string and its row, for one that is not a name.
  at::Tensor ids(const StringTensor& labels) const;
  // Names in the shape of `ids`, int64 of any device.
  StringTensor names_of(const at::Tensor& ids) const;

 private:
  std::vector<std::string> names_;
  std::unordered_map<std::string, int64_t> ids_;
};

}  // namespace belfry::internal
