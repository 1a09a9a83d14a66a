#include "checkpoint/checkpoint_reader.h"

#include <ATen/ops/empty.h>

#include <algorithm>

#include "checkpoint/internal/bundle_data.h"
#include "checkpoint/internal/bundle_index.h"
#include "checkpoint/internal/data_types.h"
#include "checkpoint/internal/slice_key.h"
#include "checkpoint/internal/tensor_slices.h"
#include "core/error.h"

namespace belfry {

class CheckpointReader::Impl {
 public:
  Impl(std::string prefix, FileSystem& files)
      : prefix(std::move(prefix)), index_(read_bundle_index(files, this->prefix)), data_(files, this->prefix, index_) {
    for (const auto& [key, entry] : index_.entries) {
      if (is_slice_key(key)) continue;
      if (entry.slices_size() > 0) check_parts(key, entry);
      variables.push_back({key, to_scalar_type(entry.dtype()), entry.dtype() == proto::DT_STRING, shape_of(entry)});
    }
  }

  at::Tensor tensor(const std::string& name) const {
    const proto::BundleEntryProto& entry = index_.entries.find(name)->second;
    return entry.slices_size() > 0 ? assemble(name, entry) : data_.tensor(name, entry);
  }

  StringTensor strings(const std::string& name) const { return data_.strings(name, index_.entries.find(name)->second); }

  void verify() const {
    for (const auto& [key, entry] : index_.entries) {
      if (entry.slices_size() == 0) data_.verify(readable_key(key), entry);
    }
  }

  const std::string prefix;
  std::vector<CheckpointVariable> variables;

 private:
  void check_parts(const std::string& name, const proto::BundleEntryProto& entry) const {
    const std::string path = index_path(prefix);
    if (to_scalar_type(entry.dtype()) == at::ScalarType::Undefined) {
      fail(ErrorKind::kUnimplemented, "'", path, "': variable '", name, "' is in parts, and they are not of numbers");
    }
    std::vector<SliceBox> boxes;
    for (const auto& slice : entry.slices()) {
      boxes.push_back(slice_box(slice, shape_of(entry)));
      const auto part = index_.entries.find(slice_key(name, slice));
      if (part == index_.entries.end()) fail_variable(path, name, "a part of it is missing");
      const bool fits = part->second.dtype() == entry.dtype() && part->second.slices_size() == 0 &&
                        shape_of(part->second) == boxes.back().length;
      if (!fits) fail_variable(path, name, "a part of it has another type or shape");
    }
    if (const char* wrong = check_boxes(boxes, shape_of(entry))) fail_variable(path, name, wrong);
  }

  at::Tensor assemble(const std::string& name, const proto::BundleEntryProto& entry) const {
    const at::TensorOptions options = at::TensorOptions().dtype(to_scalar_type(entry.dtype())).device(at::kCPU);
    const at::Tensor whole = at::empty(shape_of(entry), options);
    for (const auto& slice : entry.slices()) {
      const SliceBox box = slice_box(slice, shape_of(entry));
      at::Tensor place = whole;
      for (size_t d = 0; d < box.start.size(); ++d) {
        place = place.narrow(static_cast<int64_t>(d), box.start[d], box.length[d]);
      }
      place.copy_(data_.tensor(name, index_.entries.find(slice_key(name, slice))->second));
    }
    return whole;
  }

  const BundleIndex index_;
  const BundleData data_;
};

namespace {

std::string some_names(const std::vector<CheckpointVariable>& variables) {
  constexpr size_t kShown = 8;
  std::string text = concat(variables.size(), " variables");
  for (size_t i = 0; i < std::min(variables.size(), kShown); ++i) {
    text += concat(i == 0 ? ": '" : ", '", variables[i].name, "'");
  }
  return variables.size() > kShown ? text + " and others" : text;
}

const CheckpointVariable& find_or_fail(const CheckpointReader& reader, std::string_view name) {
  const CheckpointVariable* variable = reader.find(name);
  if (!variable) {
    fail(ErrorKind::kNotFound, "no variable '", name, "' in the checkpoint '", reader.prefix(), "', which has ",
         some_names(reader.variables()));
  }
  return *variable;
}

}  // namespace

CheckpointReader::CheckpointReader(std::string prefix, FileSystem& files)
    : impl_(std::make_unique<Impl>(std::move(prefix), files)) {}

CheckpointReader::CheckpointReader(CheckpointReader&&) noexcept = default;
CheckpointReader& CheckpointReader::operator=(CheckpointReader&&) noexcept = default;
CheckpointReader::~CheckpointReader() = default;

const std::string& CheckpointReader::prefix() const { return impl_->prefix; }

const std::vector<CheckpointVariable>& CheckpointReader::variables() const { return impl_->variables; }

const CheckpointVariable* CheckpointReader::find(std::string_view name) const {
  const auto& all = impl_->variables;
  const auto before = [](const CheckpointVariable& variable, std::string_view wanted) {
    return variable.name < wanted;
  };
  const auto found = std::lower_bound(all.begin(), all.end(), name, before);
  return found != all.end() && found->name == name ? &*found : nullptr;
}

at::Tensor CheckpointReader::tensor(std::string_view name) const {
  const CheckpointVariable& variable = find_or_fail(*this, name);
  require(!variable.is_strings, "variable '", name, "' of the checkpoint '", prefix(), "' holds strings, not numbers");
  if (variable.dtype == at::ScalarType::Undefined) {
    fail(ErrorKind::kUnimplemented, "variable '", name, "' of the checkpoint '", prefix(),
         "' has a type that LibTorch does not have");
  }
  return impl_->tensor(variable.name);
}

StringTensor CheckpointReader::strings(std::string_view name) const {
  const CheckpointVariable& variable = find_or_fail(*this, name);
  require(variable.is_strings, "variable '", name, "' of the checkpoint '", prefix(), "' holds numbers, not strings");
  return impl_->strings(variable.name);
}

Value CheckpointReader::value(std::string_view name) const {
  if (find_or_fail(*this, name).is_strings) return strings(name);
  return tensor(name);
}

void CheckpointReader::verify() const { impl_->verify(); }

}  // namespace belfry
