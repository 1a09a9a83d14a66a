#include "export/internal/onnx/onnx_builder.h"

#include <ATen/ATen.h>

#include "core/error.h"
#include "core/string_dtype.h"
#include "export/internal/onnx/kernel_dtype.h"

namespace belfry::internal::onnx {
namespace {

using proto::onnx::AttributeProto;
using proto::onnx::TensorProto;

constexpr int64_t kSharedBytes = 256;  // constants up to this are shared

void describe(proto::onnx::ValueInfoProto& info, const std::string& name, c10::ScalarType dtype, const Dims& dims) {
  info.set_name(name);
  auto& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx_dtype(dtype));
  type.mutable_shape();  // a scalar has a shape without sizes
  for (const auto& dim : dims) {
    auto& written = *type.mutable_shape()->add_dim();
    if (const auto* size = std::get_if<int64_t>(&dim)) {
      written.set_dim_value(*size);
    } else {
      written.set_dim_param(std::get<std::string>(dim));
    }
  }
}

}  // namespace

TensorProto::DataType onnx_dtype(c10::ScalarType dtype) {
  static const std::unordered_map<c10::ScalarType, TensorProto::DataType> types{
      {at::kFloat, TensorProto::FLOAT},       {at::kDouble, TensorProto::DOUBLE}, {at::kHalf, TensorProto::FLOAT16},
      {at::kBFloat16, TensorProto::BFLOAT16}, {at::kByte, TensorProto::UINT8},    {at::kChar, TensorProto::INT8},
      {at::kShort, TensorProto::INT16},       {at::kInt, TensorProto::INT32},     {at::kLong, TensorProto::INT64},
      {at::kBool, TensorProto::BOOL},         {at::kUInt16, TensorProto::UINT16}, {at::kUInt32, TensorProto::UINT32},
      {at::kUInt64, TensorProto::UINT64}};
  const auto found = types.find(dtype);
  if (found == types.end()) fail(ErrorKind::kUnimplemented, "ONNX has no dtype ", dtype_text(dtype));
  return found->second;
}

AttributeProto& Node::attribute(const char* name, AttributeProto::AttributeType type) {
  AttributeProto& attribute = *node_.add_attribute();
  attribute.set_name(name);
  attribute.set_type(type);
  return attribute;
}

Node& Node::integer(const char* name, int64_t value) {
  attribute(name, AttributeProto::INT).set_i(value);
  return *this;
}

Node& Node::number(const char* name, double value) {
  attribute(name, AttributeProto::FLOAT).set_f(static_cast<float>(value));
  return *this;
}

Node& Node::text(const char* name, const std::string& value) {
  attribute(name, AttributeProto::STRING).set_s(value);
  return *this;
}

Node& Node::texts(const char* name, const std::vector<std::string>& values) {
  AttributeProto& list = attribute(name, AttributeProto::STRINGS);
  for (const std::string& value : values) list.add_strings(value);
  return *this;
}

Node& Node::integers(const char* name, const std::vector<int64_t>& values) {
  AttributeProto& list = attribute(name, AttributeProto::INTS);
  for (const int64_t value : values) list.add_ints(value);
  return *this;
}

std::string OnnxBuilder::reserve(const std::string& wanted) {
  std::string name = wanted;
  while (!names_.insert(name).second) name = concat(wanted, "_", ++counts_[wanted]);
  return name;
}

Tensor OnnxBuilder::input(const std::string& name, c10::ScalarType dtype, const Dims& dims) {
  describe(*graph_.add_input(), name, dtype, dims);
  return {name, dtype};
}

void OnnxBuilder::output(const std::string& name, const Tensor& value, const Dims& dims) {
  proto::onnx::NodeProto& node = *graph_.add_node();
  node.set_op_type("Identity");
  node.set_name(name);
  node.add_input(value.name);
  node.add_output(name);
  describe(*graph_.add_output(), name, value.dtype, dims);
}

Node OnnxBuilder::node(const char* operation, const std::vector<Tensor>& inputs, int outputs) {
  proto::onnx::NodeProto& node = *graph_.add_node();
  node.set_op_type(operation);
  node.set_name(reserve(scope_.empty() ? operation : scope_ + "/" + operation));
  for (const Tensor& input : inputs) node.add_input(input.name);
  node.add_output(node.name());
  for (int i = 1; i < outputs; ++i) node.add_output(reserve(concat(node.name(), ":", i)));
  return Node(node);
}

Tensor OnnxBuilder::constant(const at::Tensor& given, const std::string& wanted_name) {
  const at::Tensor tensor = given.contiguous();
  const std::string_view bytes(static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes());
  const bool shared = wanted_name.empty() && static_cast<int64_t>(bytes.size()) <= kSharedBytes;
  if (!shared) return initializer(tensor, bytes, wanted_name.empty() ? "constant" : wanted_name);
  const std::string key = concat(c10::toString(tensor.scalar_type()), tensor.sizes(), bytes);
  const auto found = constants_.find(key);
  if (found != constants_.end()) return found->second;
  return constants_[key] = initializer(tensor, bytes, "constant");
}

Tensor OnnxBuilder::initializer(const at::Tensor& tensor, std::string_view bytes, const std::string& wanted_name) {
  const auto type = onnx_dtype(tensor.scalar_type());
  TensorProto& initializer = *graph_.add_initializer();
  initializer.set_name(reserve(wanted_name));
  initializer.set_data_type(type);
  for (const int64_t size : tensor.sizes()) initializer.add_dims(size);
  initializer.set_raw_data(bytes.data(), bytes.size());
  return {initializer.name(), tensor.scalar_type()};
}

Tensor OnnxBuilder::scalar(const at::Scalar& number, c10::ScalarType dtype) {
  return constant(at::full({}, number, at::TensorOptions(dtype)));
}

Tensor OnnxBuilder::int64s(const std::vector<int64_t>& numbers) { return constant(at::tensor(numbers, at::kLong)); }

Tensor OnnxBuilder::cast(const Tensor& x, c10::ScalarType dtype) {
  if (x.dtype == dtype) return x;
  return node("Cast", {x}).integer("to", onnx_dtype(dtype)).output(dtype);
}

Tensor OnnxBuilder::unary(const char* operation, const Tensor& x) {
  const c10::ScalarType dtype = kernel_dtype(operation, x.dtype);
  return cast(node(operation, {cast(x, dtype)}).output(dtype), x.dtype);
}

Tensor OnnxBuilder::binary(const char* operation, const Tensor& a, const Tensor& b) {
  const c10::ScalarType dtype = kernel_dtype(operation, a.dtype);
  return cast(node(operation, {cast(a, dtype), cast(b, dtype)}).output(dtype), a.dtype);
}

Tensor OnnxBuilder::binary(const char* operation, const Tensor& a, const at::Scalar& b) {
  return binary(operation, a, scalar(b, a.dtype));
}

Tensor OnnxBuilder::compare(const char* operation, const Tensor& a, const Tensor& b) {
  const c10::ScalarType dtype = kernel_dtype(operation, a.dtype);
  return node(operation, {cast(a, dtype), cast(b, dtype)}).output(at::kBool);
}

Tensor OnnxBuilder::compare(const char* operation, const Tensor& a, const at::Scalar& b) {
  return compare(operation, a, scalar(b, a.dtype));
}

Tensor OnnxBuilder::select(const Tensor& condition, const Tensor& then, const Tensor& otherwise) {
  const c10::ScalarType dtype = kernel_dtype("Where", then.dtype);
  return cast(node("Where", {condition, cast(then, dtype), cast(otherwise, dtype)}).output(dtype), then.dtype);
}

Tensor OnnxBuilder::logical(const char* operation, const Tensor& a, const Tensor& b) {
  return node(operation, {a, b}).output(at::kBool);
}

Tensor OnnxBuilder::negated(const Tensor& a) { return node("Not", {a}).output(at::kBool); }

Tensor OnnxBuilder::reduce(const char* operation, const Tensor& x, const std::vector<int64_t>& axes, bool keep) {
  const c10::ScalarType dtype = kernel_dtype(operation, x.dtype);
  std::vector<Tensor> operands{cast(x, dtype)};
  const bool by_input = std::string_view(operation) == "ReduceSum";
  if (by_input) operands.push_back(int64s(axes));
  Node result = node(operation, operands);
  if (!by_input) result.integers("axes", axes);
  return cast(result.integer("keepdims", keep ? 1 : 0).output(dtype), x.dtype);
}

Tensor OnnxBuilder::reshape(const Tensor& x, const std::vector<int64_t>& shape) {
  return node("Reshape", {x, int64s(shape)}).output(x.dtype);
}

Tensor OnnxBuilder::transpose(const Tensor& x, const std::vector<int64_t>& permutation) {
  return node("Transpose", {x}).integers("perm", permutation).output(x.dtype);
}

Tensor OnnxBuilder::squeeze(const Tensor& x, const std::vector<int64_t>& axes) {
  return node("Squeeze", {x, int64s(axes)}).output(x.dtype);
}

Tensor OnnxBuilder::unsqueeze(const Tensor& x, const std::vector<int64_t>& axes) {
  return node("Unsqueeze", {x, int64s(axes)}).output(x.dtype);
}

Tensor OnnxBuilder::concatenate(const std::vector<Tensor>& values, int64_t axis) {
  return node("Concat", values).integer("axis", axis).output(values.at(0).dtype);
}

std::vector<Tensor> OnnxBuilder::split(const Tensor& x, const std::vector<int64_t>& sizes, int64_t axis) {
  const Node split = node("Split", {x, int64s(sizes)}, static_cast<int>(sizes.size())).integer("axis", axis);
  std::vector<Tensor> parts;
  for (size_t i = 0; i < sizes.size(); ++i) parts.push_back(split.output(x.dtype, static_cast<int>(i)));
  return parts;
}

Tensor OnnxBuilder::shape(const Tensor& x) { return node("Shape", {x}).output(at::kLong); }

Tensor OnnxBuilder::pad(const Tensor& x, const std::vector<int64_t>& before, const std::vector<int64_t>& after,
                        const Tensor& value) {
  std::vector<int64_t> margins = before;
  margins.insert(margins.end(), after.begin(), after.end());
  const c10::ScalarType dtype = kernel_dtype("Pad", x.dtype);
  return cast(node("Pad", {cast(x, dtype), int64s(margins), cast(value, dtype)}).output(dtype), x.dtype);
}

}  // namespace belfry::internal::onnx
