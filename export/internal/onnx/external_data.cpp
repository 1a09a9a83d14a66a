#include "export/internal/onnx/external_data.h"

namespace belfry::internal::onnx {
namespace {

constexpr size_t kAlignment = 4096;
constexpr size_t kSmallBytes = 256;  // shapes and the like, which readers want to know before they load the weights

void add_entry(proto::onnx::TensorProto& tensor, const char* key, const std::string& value) {
  auto& entry = *tensor.add_external_data();
  entry.set_key(key);
  entry.set_value(value);
}

}  // namespace

int64_t initializer_bytes(const proto::onnx::GraphProto& graph) {
  int64_t bytes = 0;
  for (const auto& tensor : graph.initializer()) bytes += static_cast<int64_t>(tensor.raw_data().size());
  return bytes;
}

std::string move_out_initializers(proto::onnx::GraphProto& graph, const std::string& location) {
  std::string file;
  file.reserve(initializer_bytes(graph) + graph.initializer_size() * kAlignment);
  for (auto& tensor : *graph.mutable_initializer()) {
    if (tensor.raw_data().size() <= kSmallBytes) continue;
    file.resize((file.size() + kAlignment - 1) / kAlignment * kAlignment);
    add_entry(tensor, "location", location);
    add_entry(tensor, "offset", std::to_string(file.size()));
    add_entry(tensor, "length", std::to_string(tensor.raw_data().size()));
    tensor.set_data_location(proto::onnx::TensorProto::EXTERNAL);
    file += tensor.raw_data();
    tensor.clear_raw_data();
  }
  return file;
}

}  // namespace belfry::internal::onnx
