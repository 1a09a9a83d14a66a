#include "estimator/heads/internal/label_vocabulary.h"

#include <ATen/ATen.h>

#include "core/error.h"
#include "distribute/step_context.h"

namespace belfry::internal {

LabelVocabulary::LabelVocabulary(int64_t classes, std::vector<std::string> names) : names_(std::move(names)) {
  if (names_.empty()) {
    for (int64_t i = 0; i < classes; ++i) names_.push_back(std::to_string(i));
    return;
  }
  require(size() == classes, "label_vocabulary has ", names_.size(), " names; there are ", classes, " classes");
  for (int64_t i = 0; i < classes; ++i) {
    const std::string& name = names_[static_cast<size_t>(i)];
    require(ids_.emplace(name, i).second, "label_vocabulary: '", name, "' comes twice");
  }
}

at::Tensor LabelVocabulary::ids(const StringTensor& labels) const {
  at::Tensor result = at::empty(labels.sizes(), at::kLong);
  auto* out = result.mutable_data_ptr<int64_t>();
  const int64_t a_row = labels.dim() > 0 && labels.size(0) > 0 ? labels.numel() / labels.size(0) : 1;
  for (int64_t i = 0; i < labels.numel(); ++i) {
    const auto found = ids_.find(labels[i]);
    if (found == ids_.end()) {
      fail(ErrorKind::kOutOfRange, "label '", labels[i], "' in ",
           StepContext::describe_row(i / a_row, labels.dim() > 0 ? labels.size(0) : 1), " is not among the ",
           names_.size(), " names of the label_vocabulary");
    }
    out[i] = found->second;
  }
  return result;
}

StringTensor LabelVocabulary::names_of(const at::Tensor& ids) const {
  const at::Tensor host = ids.cpu().contiguous();
  const auto* id = host.const_data_ptr<int64_t>();
  std::vector<std::string> values;
  values.reserve(static_cast<size_t>(host.numel()));
  for (int64_t i = 0; i < host.numel(); ++i) values.push_back(names_[static_cast<size_t>(id[i])]);
  return StringTensor(std::move(values), host.sizes().vec());
}

}  // namespace belfry::internal
