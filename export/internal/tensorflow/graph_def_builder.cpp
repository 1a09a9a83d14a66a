#include "export/internal/tensorflow/graph_def_builder.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>

#include "checkpoint/internal/data_types.h"
#include "core/error.h"
#include "core/string_dtype.h"

namespace belfry::internal {
namespace {

constexpr int64_t kSharedBytes = 256;  // constants up to this are shared

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.';
}

std::string in_lower_case(std::string name) {
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return name;
}

}  // namespace

std::string node_name(const std::string& wanted) {
  std::string name;
  for (const char c : wanted) {
    const bool kept = is_letter_or_digit(c) || (!name.empty() && (c == '_' || c == '/' || c == '-'));
    name += kept ? c : (name.empty() ? '.' : '_');
  }
  return name.empty() ? "tensor" : name;
}

proto::DataType tensorflow_dtype(c10::ScalarType dtype) {
  if (dtype == kString) return proto::DT_STRING;
  const proto::DataType type = to_data_type(dtype);
  if (type == proto::DT_INVALID) {
    fail(ErrorKind::kUnimplemented, "TensorFlow has no dtype ", c10::toString(dtype));
  }
  return type;
}

void set_shape(proto::TensorShapeProto& proto, const std::vector<int64_t>& shape) {
  for (const int64_t size : shape) proto.add_dim()->set_size(size);
}

TfNode& TfNode::input(const TfTensor& tensor) {
  node_.add_input(tensor.name);
  return *this;
}

TfNode& TfNode::inputs(const std::vector<TfTensor>& tensors) {
  for (const TfTensor& tensor : tensors) input(tensor);
  return *this;
}

TfNode& TfNode::type(const char* name, c10::ScalarType dtype) {
  attribute(name).set_type(tensorflow_dtype(dtype));
  return *this;
}

TfNode& TfNode::resource(const char* name) {
  attribute(name).set_type(proto::DT_RESOURCE);
  return *this;
}

TfNode& TfNode::integer(const char* name, int64_t value) {
  attribute(name).set_i(value);
  return *this;
}

TfNode& TfNode::number(const char* name, double value) {
  attribute(name).set_f(static_cast<float>(value));
  return *this;
}

TfNode& TfNode::flag(const char* name, bool value) {
  attribute(name).set_b(value);
  return *this;
}

TfNode& TfNode::text(const char* name, const std::string& value) {
  attribute(name).set_s(value);
  return *this;
}

TfNode& TfNode::integers(const char* name, const std::vector<int64_t>& values) {
  auto* list = attribute(name).mutable_list();
  for (const int64_t value : values) list->add_i(value);
  return *this;
}

TfNode& TfNode::shape(const char* name, const std::vector<int64_t>& value) {
  set_shape(*attribute(name).mutable_shape(), value);
  return *this;
}

TfNode& TfNode::numbers(const char* name, const at::Tensor& floats) {
  auto* list = attribute(name).mutable_list();
  for (int64_t i = 0; i < floats.numel(); ++i) list->add_f(floats[i].item<float>());
  return *this;
}

TfNode& TfNode::types(const char* name, const std::vector<c10::ScalarType>& dtypes) {
  auto* list = attribute(name).mutable_list();
  for (const c10::ScalarType dtype : dtypes) list->add_type(tensorflow_dtype(dtype));
  return *this;
}

TfNode& TfNode::shapes(const char* name, const std::vector<std::vector<int64_t>>& shapes) {
  auto* list = attribute(name).mutable_list();
  for (const auto& shape : shapes) set_shape(*list->add_shape(), shape);
  return *this;
}

TfNode& TfNode::after(const TfTensor& node) {
  node_.add_input("^" + node.name);
  return *this;
}

TfTensor TfNode::output(c10::ScalarType dtype, int index) const {
  return {index == 0 ? node_.name() : concat(node_.name(), ":", index), dtype};
}

std::string GraphDefBuilder::unique_name(const std::string& wanted) {
  std::string name = wanted;
  while (!names_.insert(in_lower_case(name)).second) name = concat(wanted, "_", ++counts_[wanted]);
  return name;
}

TfNode GraphDefBuilder::node(const char* operation) {
  return node(operation, scope_.empty() ? operation : scope_ + "/" + operation);
}

TfNode GraphDefBuilder::node(const char* operation, const std::string& wanted_name) {
  proto::NodeDef& node = *graph_.add_node();
  node.set_name(unique_name(node_name(wanted_name)));
  node.set_op(operation);
  return TfNode(node);
}

TfTensor GraphDefBuilder::placeholder(const std::string& wanted_name, c10::ScalarType dtype,
                                      const std::vector<int64_t>& shape) {
  return node("Placeholder", wanted_name).type("dtype", dtype).shape("shape", shape).output(dtype);
}

TfTensor GraphDefBuilder::weight(const at::Tensor& tensor, const std::string& wanted_name) {
  if (weights_ == TfWeights::kConstants || wanted_name.empty()) return constant(tensor, wanted_name);
  const c10::ScalarType dtype = tensor.scalar_type();
  TfNode variable = node("VarHandleOp", wanted_name).type("dtype", dtype).shape("shape", tensor.sizes().vec());
  const TfTensor handle = variable.output(dtype);
  variable.text("shared_name", handle.name);
  const TfTensor value = node("ReadVariableOp", handle.name + "/Read").input(handle).type("dtype", dtype).output(dtype);
  variables_.push_back({handle.name, handle, value, tensor});
  return value;
}

TfTensor GraphDefBuilder::constant(const at::Tensor& given, const std::string& wanted_name) {
  const at::Tensor tensor = given.contiguous();
  const auto size = static_cast<size_t>(tensor.numel() * static_cast<int64_t>(tensor.element_size()));
  const std::string bytes(static_cast<const char*>(tensor.const_data_ptr()), size);
  const c10::ScalarType dtype = tensor.scalar_type();
  const bool shared = wanted_name.empty() && static_cast<int64_t>(size) <= kSharedBytes;
  const std::string key = concat(c10::toString(dtype), tensor.sizes(), bytes);
  if (shared && constants_.contains(key)) return constants_.at(key);
  const TfTensor result = node("Const", wanted_name.empty() ? "Const" : wanted_name).type("dtype", dtype).output(dtype);
  auto& attributes = *graph_.mutable_node(graph_.node_size() - 1)->mutable_attr();
  proto::TensorProto& value = *attributes["value"].mutable_tensor();
  value.set_dtype(tensorflow_dtype(dtype));
  set_shape(*value.mutable_tensor_shape(), tensor.sizes().vec());
  value.set_tensor_content(bytes);
  constant_bytes_ += static_cast<int64_t>(size);
  if (shared) constants_[key] = result;
  return result;
}

TfTensor GraphDefBuilder::constant(const StringTensor& strings, const std::string& wanted_name) {
  const TfNode const_node = node("Const", wanted_name.empty() ? "Const" : wanted_name).type("dtype", kString);
  auto& attributes = *graph_.mutable_node(graph_.node_size() - 1)->mutable_attr();
  proto::TensorProto& value = *attributes["value"].mutable_tensor();
  value.set_dtype(proto::DT_STRING);
  set_shape(*value.mutable_tensor_shape(), strings.sizes());
  for (const std::string& element : strings) {
    value.add_string_val(element);
    constant_bytes_ += static_cast<int64_t>(element.size());
  }
  return const_node.output(kString);
}

TfTensor GraphDefBuilder::scalar(const at::Scalar& number, c10::ScalarType dtype) {
  return constant(at::full({}, number, at::TensorOptions(dtype)));
}

TfTensor GraphDefBuilder::int32s(const std::vector<int64_t>& numbers) {
  return constant(at::tensor(numbers, at::kLong).to(at::kInt));
}

TfTensor GraphDefBuilder::int32(int64_t number) { return scalar(number, at::kInt); }

TfTensor GraphDefBuilder::int64s(const std::vector<int64_t>& numbers) {
  return constant(at::tensor(numbers, at::kLong));
}

TfTensor GraphDefBuilder::unary(const char* operation, const TfTensor& x) {
  return node(operation).input(x).type("T", x.dtype).output(x.dtype);
}

TfTensor GraphDefBuilder::binary(const char* operation, const TfTensor& a, const TfTensor& b) {
  return node(operation).input(a).input(b).type("T", a.dtype).output(a.dtype);
}

TfTensor GraphDefBuilder::binary(const char* operation, const TfTensor& a, const at::Scalar& b) {
  return binary(operation, a, scalar(b, a.dtype));
}

TfTensor GraphDefBuilder::cast(const TfTensor& x, c10::ScalarType dtype) {
  if (x.dtype == dtype) return x;
  if (dtype == at::kBool) return {binary("NotEqual", x, 0).name, at::kBool};
  return node("Cast").input(x).type("SrcT", x.dtype).type("DstT", dtype).output(dtype);
}

TfTensor GraphDefBuilder::transpose(const TfTensor& x, const std::vector<int64_t>& permutation) {
  if (std::is_sorted(permutation.begin(), permutation.end())) return x;
  const auto before = transposed_.find(x.name);
  if (before != transposed_.end()) {
    const Transposed earlier = before->second;
    std::vector<int64_t> both;
    for (const int64_t axis : permutation) both.push_back(earlier.permutation.at(axis));
    if (std::is_sorted(both.begin(), both.end())) return earlier.source;
  }
  const TfTensor result = node("Transpose").input(x).input(int32s(permutation)).type("T", x.dtype).output(x.dtype);
  transposed_[result.name] = {x, permutation};
  return result;
}

TfTensor GraphDefBuilder::swap_axes(const TfTensor& x, int64_t rank, int64_t a, int64_t b) {
  std::vector<int64_t> permutation(rank);
  std::iota(permutation.begin(), permutation.end(), 0);
  std::swap(permutation.at(a), permutation.at(b));
  return transpose(x, permutation);
}

TfTensor GraphDefBuilder::reshape(const TfTensor& x, const std::vector<int64_t>& shape) {
  return node("Reshape").input(x).input(int64s(shape)).type("T", x.dtype).type("Tshape", at::kLong).output(x.dtype);
}

TfTensor GraphDefBuilder::expand_dims(const TfTensor& x, int64_t axis) {
  return node("ExpandDims").input(x).input(int32(axis)).type("T", x.dtype).output(x.dtype);
}

TfTensor GraphDefBuilder::squeeze(const TfTensor& x, const std::vector<int64_t>& axes) {
  return node("Squeeze").input(x).type("T", x.dtype).integers("squeeze_dims", axes).output(x.dtype);
}

TfTensor GraphDefBuilder::shape(const TfTensor& x) {
  return node("Shape").input(x).type("T", x.dtype).type("out_type", at::kLong).output(at::kLong);
}

TfTensor GraphDefBuilder::size(const TfTensor& x, int64_t axis) {
  return squeeze(slice(shape(x), 1, 0, axis, axis + 1), {0});
}

TfTensor GraphDefBuilder::slice(const TfTensor& x, int64_t rank, int64_t axis, int64_t begin, int64_t end) {
  std::vector<int64_t> begins(rank, 0);
  std::vector<int64_t> ends(rank, 0);
  begins.at(axis) = begin;
  ends.at(axis) = end;
  const int64_t others = ((int64_t{1} << rank) - 1) & ~(int64_t{1} << axis);
  const bool to_end = begin < 0 && end == 0;
  return node("StridedSlice")
      .inputs({x, int64s(begins), int64s(ends), int64s(std::vector<int64_t>(rank, 1))})
      .type("T", x.dtype)
      .type("Index", at::kLong)
      .integer("begin_mask", others)
      .integer("end_mask", to_end ? others | (int64_t{1} << axis) : others)
      .output(x.dtype);
}

TfTensor GraphDefBuilder::pad(const TfTensor& x, const std::vector<int64_t>& before, const std::vector<int64_t>& after,
                              const TfTensor& value) {
  const auto is_zero = [](int64_t count) { return count == 0; };
  if (std::all_of(before.begin(), before.end(), is_zero) && std::all_of(after.begin(), after.end(), is_zero)) return x;
  const at::Tensor margins = at::stack({at::tensor(before, at::kLong), at::tensor(after, at::kLong)}, 1);
  return node("PadV2").inputs({x, constant(margins.to(at::kInt)), value}).type("T", x.dtype).output(x.dtype);
}

TfTensor GraphDefBuilder::concatenate(const std::vector<TfTensor>& values, int64_t axis) {
  return node("ConcatV2")
      .inputs(values)
      .input(int32(axis))
      .integer("N", static_cast<int64_t>(values.size()))
      .type("T", values.at(0).dtype)
      .output(values[0].dtype);
}

std::vector<TfTensor> GraphDefBuilder::split(const TfTensor& x, int64_t parts, int64_t axis) {
  return split(x, parts, int32(axis));
}

std::vector<TfTensor> GraphDefBuilder::split(const TfTensor& x, int64_t parts, const TfTensor& axis) {
  const TfNode split = node("Split").input(axis).input(x).integer("num_split", parts).type("T", x.dtype);
  std::vector<TfTensor> result;
  for (int i = 0; i < parts; ++i) result.push_back(split.output(x.dtype, i));
  return result;
}

TfTensor GraphDefBuilder::pack(const std::vector<TfTensor>& values, int64_t axis) {
  return node("Pack")
      .inputs(values)
      .integer("N", static_cast<int64_t>(values.size()))
      .integer("axis", axis)
      .type("T", values.at(0).dtype)
      .output(values[0].dtype);
}

TfTensor GraphDefBuilder::mean(const TfTensor& x, const std::vector<int64_t>& axes) {
  return node("Mean").input(x).input(int32s(axes)).type("T", x.dtype).flag("keep_dims", true).output(x.dtype);
}

TfTensor GraphDefBuilder::bias_add(const TfTensor& x, const TfTensor& bias) { return binary("BiasAdd", x, bias); }

}  // namespace belfry::internal
