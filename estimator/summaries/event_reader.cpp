#include "estimator/summaries/event_reader.h"

#include <ATen/ATen.h>

#include <cstring>

#include "belfry/core/event.pb.h"
#include "checkpoint/internal/data_types.h"
#include "core/error.h"

namespace belfry {
namespace {

SummaryHistogram read_histogram(const proto::HistogramProto& from) {
  return {from.min(),
          from.max(),
          from.num(),
          from.sum(),
          from.sum_squares(),
          {from.bucket_limit().begin(), from.bucket_limit().end()},
          {from.bucket().begin(), from.bucket().end()}};
}

// Undefined where shape, dtype and bytes do not belong together.
at::Tensor read_tensor(const proto::TensorProto& from) {
  const at::ScalarType type = to_scalar_type(from.dtype());
  if (type == at::ScalarType::Undefined) return {};
  std::vector<int64_t> sizes;
  uint64_t bytes = c10::elementSize(type);
  for (const auto& dim : from.tensor_shape().dim()) {
    const auto size = static_cast<uint64_t>(dim.size());
    if (dim.size() < 0 || (size != 0 && bytes > from.tensor_content().size() / size)) return {};
    bytes *= size;
    sizes.push_back(dim.size());
  }
  if (bytes != from.tensor_content().size()) return {};
  at::Tensor tensor = at::empty(sizes, type);
  if (bytes > 0) std::memcpy(tensor.data_ptr(), from.tensor_content().data(), bytes);
  return tensor;
}

SummaryValue read_value(const proto::Summary::Value& from) {
  SummaryValue value{from.tag(), std::monostate()};
  if (from.has_tensor() && from.tensor().string_val_size() == 1) {
    value.value = from.tensor().string_val(0);
  } else if (from.has_tensor() && from.tensor().float_val_size() == 1) {  // TensorFlow 2's scalars
    value.value = static_cast<double>(from.tensor().float_val(0));
  } else if (from.has_tensor()) {
    const at::Tensor tensor = read_tensor(from.tensor());
    if (tensor.defined()) value.value = tensor;
  } else if (from.has_histo()) {
    value.value = read_histogram(from.histo());
  } else if (from.value_case() == proto::Summary::Value::kSimpleValue) {
    value.value = static_cast<double>(from.simple_value());
  }
  return value;
}

}  // namespace

EventFileReader::EventFileReader(FileSystem& files, const std::string& path)
    : path_(path), records_(files, path, {.stop_at_truncated_tail = true}) {}

bool EventFileReader::next(SummaryEvent& event) {
  std::string record;
  if (!records_.next(record)) return false;
  proto::Event from;
  if (!from.ParseFromString(record)) fail(ErrorKind::kDataLoss, "'", path_, "' holds a record that is no event");
  event = {
      from.wall_time(), from.step(), from.file_version(), from.session_log().status() == proto::SessionLog::START, {}};
  for (const proto::Summary::Value& value : from.summary().value()) event.values.push_back(read_value(value));
  return true;
}

std::vector<std::string> list_event_files(FileSystem& files, const std::string& directory) {
  std::vector<std::string> paths;
  if (!files.is_directory(directory)) return paths;
  for (const std::string& name : files.list(directory))
    if (name.find("tfevents") != std::string::npos) paths.push_back(join_path(directory, name));
  return paths;
}

std::map<int64_t, std::map<std::string, double>> read_scalars(FileSystem& files, const std::string& directory) {
  std::map<int64_t, std::map<std::string, double>> scalars;
  for (const std::string& path : list_event_files(files, directory)) {
    EventFileReader reader(files, path);
    SummaryEvent event;
    while (reader.next(event))
      for (const SummaryValue& value : event.values)
        if (const double* scalar = std::get_if<double>(&value.value)) scalars[event.step][value.tag] = *scalar;
  }
  return scalars;
}

}  // namespace belfry
