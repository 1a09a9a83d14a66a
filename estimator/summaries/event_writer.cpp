#include "estimator/summaries/event_writer.h"

#include <ATen/ATen.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "belfry/core/event.pb.h"
#include "checkpoint/internal/data_types.h"
#include "core/error.h"
#include "core/log.h"
#include "estimator/summaries/internal/histogram.h"

namespace belfry {
namespace {

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string host_name() {
  char name[256] = {};
  if (::gethostname(name, sizeof(name) - 1) != 0 || name[0] == '\0') return "localhost";
  return name;
}

proto::Event event_at(int64_t step) {
  proto::Event event;
  event.set_wall_time(seconds_since_1970());
  event.set_step(step);
  return event;
}

proto::Summary::Value* add_value(proto::Event& event, std::string_view tag) {
  proto::Summary::Value* value = event.mutable_summary()->add_value();
  value->set_tag(std::string(tag));
  return value;
}

// TensorBoard orders files by name: ten digits keep that the order of time.
std::string unused_path(FileSystem& files, const std::string& directory) {
  char seconds[32];
  std::snprintf(seconds, sizeof(seconds), "%010lld", static_cast<long long>(seconds_since_1970()));
  const std::string first = join_path(directory, concat("events.out.tfevents.", seconds, ".", host_name()));
  std::string path = first;
  for (int i = 1; files.exists(path); ++i) path = concat(first, ".", i);
  return path;
}

}  // namespace

EventFileWriter::EventFileWriter(std::string directory, FileSystem& files, EventWriterOptions options)
    : directory_(std::move(directory)), files_(files), options_(options) {
  require(options_.flush_secs >= 0, "flush_secs is ", options_.flush_secs, " and cannot be negative");
  files_.make_directories(directory_);
  open_file();
  writer_->flush();
}

EventFileWriter::~EventFileWriter() {
  try {
    flush();
  } catch (const Error& error) {
    log_warning("the last events for TensorBoard are lost: ", error.what());
  }
}

void EventFileWriter::add_scalar(std::string_view tag, double value, int64_t step) {
  proto::Event event = event_at(step);
  add_value(event, tag)->set_simple_value(static_cast<float>(value));
  add(event.SerializeAsString());
}

void EventFileWriter::add_scalars(const std::vector<std::pair<std::string, double>>& scalars, int64_t step) {
  if (scalars.empty()) return;
  proto::Event event = event_at(step);
  for (const auto& [tag, value] : scalars) add_value(event, tag)->set_simple_value(static_cast<float>(value));
  add(event.SerializeAsString());
}

void EventFileWriter::add_text(std::string_view tag, std::string_view text, int64_t step) {
  proto::Event event = event_at(step);
  proto::Summary::Value* value = add_value(event, tag);
  value->mutable_metadata()->mutable_plugin_data()->set_plugin_name("text");
  value->mutable_metadata()->set_data_class(proto::SummaryMetadata::DATA_CLASS_TENSOR);
  value->mutable_tensor()->set_dtype(proto::DT_STRING);
  value->mutable_tensor()->mutable_tensor_shape();  // a scalar
  value->mutable_tensor()->add_string_val(std::string(text));
  add(event.SerializeAsString());
}

void EventFileWriter::add_histogram(std::string_view tag, const at::Tensor& values, int64_t step) {
  if (values.defined() && values.numel() == 0) return;
  proto::Event event = event_at(step);
  *add_value(event, tag)->mutable_histo() = internal::make_histogram(tag, values);
  add(event.SerializeAsString());
}

void EventFileWriter::add_tensor(std::string_view tag, const at::Tensor& value, int64_t step) {
  require(value.defined(), "summary '", tag, "' has no tensor");
  const proto::DataType type = to_data_type(value.scalar_type());
  require(value.layout() == at::kStrided && type != proto::DT_INVALID, "summary '", tag, "' is ", value.layout(),
          " of dtype ", value.scalar_type(), ", which TensorFlow has no dense tensors of");
  const at::Tensor bytes = value.detach().cpu().resolve_conj().resolve_neg().contiguous();
  proto::Event event = event_at(step);
  proto::TensorProto* tensor = add_value(event, tag)->mutable_tensor();
  tensor->set_dtype(type);
  tensor->mutable_tensor_shape();  // a scalar has no dimension, and a shape
  for (const int64_t size : bytes.sizes()) tensor->mutable_tensor_shape()->add_dim()->set_size(size);
  tensor->set_tensor_content(bytes.const_data_ptr(), bytes.nbytes());
  add(event.SerializeAsString());
}

void EventFileWriter::add_session_start(int64_t step) {
  proto::Event event = event_at(step);
  event.mutable_session_log()->set_status(proto::SessionLog::START);
  add(event.SerializeAsString());
}

void EventFileWriter::flush() {
  const std::lock_guard lock(mutex_);
  flush_locked();
}

std::string EventFileWriter::path() const {
  const std::lock_guard lock(mutex_);
  return path_;
}

void EventFileWriter::add(std::string event) {
  const std::lock_guard lock(mutex_);
  pending_.push_back(std::move(event));
  if (steady_seconds() - flushed_at_ >= options_.flush_secs) flush_locked();
}

void EventFileWriter::flush_locked() {
  if (pending_.empty()) return;
  flushed_at_ = steady_seconds();  // a failure too: the next try has time
  try {
    if (!writer_) open_file();
    write_pending();
  } catch (...) {
    writer_.reset();
    throw;
  }
}

void EventFileWriter::open_file() {
  path_ = unused_path(files_, directory_);
  writer_ = std::make_unique<RecordWriter>(files_.create(path_));
  proto::Event version;
  version.set_wall_time(seconds_since_1970());
  version.set_file_version("brain.Event:2");
  writer_->write(version.SerializeAsString());
}

void EventFileWriter::write_pending() {
  for (const std::string& event : pending_) writer_->write(event);
  writer_->flush();
  pending_.clear();
}

}  // namespace belfry
