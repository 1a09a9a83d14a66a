// Writes what TensorBoard shows.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../../core/file_system.h"
#include "../../core/record_io.h"

namespace belfry {

struct EventWriterOptions {
  // Events go to the operating system with the first one that comes so long after the last time they did. A kill loses
  // at most the events since; a smaller number costs more writes.
  double flush_secs = 2;
};

// Writes one event file, events.out.tfevents.<secs>.<host>, into a folder, which it makes. Tags are written as they are
// given. A new object never touches the files that are there. Threads may share an object.
//
// Calls throw kIo when the disk does. Then the events since the last flush are kept, and the next call goes on in a
// new file, since the old one may end in half an event: nothing before it is harmed, and readers skip that end.
class EventFileWriter {
 public:
  // `files` must live longer.
  EventFileWriter(std::string directory, FileSystem& files, EventWriterOptions options = {});
  // Flushes; a failure is a warning in the log.
  ~EventFileWriter();
  EventFileWriter(const EventFileWriter&) = delete;
  EventFileWriter& operator=(const EventFileWriter&) = delete;

  // `step` is a global step. Values are stored as float32; NaN and infinities are allowed.
  void add_scalar(std::string_view tag, double value, int64_t step);
  // All in one event.
  void add_scalars(const std::vector<std::pair<std::string, double>>& scalars, int64_t step);
  // Markdown, on TensorBoard's page of texts.
  void add_text(std::string_view tag, std::string_view text, int64_t step);
  // The distribution of all elements, of any shape and dtype of real numbers, in buckets that grow by a tenth. Waits
  // for the tensor's device. kInvalidArgument, with the tag, for elements that are not finite; none at all are no
  // event.
  void add_histogram(std::string_view tag, const at::Tensor& values, int64_t step);
  // A tensor as it is, of any shape and dtype that checkpoints hold: metrics that are arrays, as TensorFlow's
  // evaluation writes them. No page of TensorBoard draws it; its event reader gives it back. Waits for the tensor's
  // device. kInvalidArgument, with the tag, for a tensor that is undefined, not dense or of another dtype.
  void add_tensor(std::string_view tag, const at::Tensor& value, int64_t step);
  // That the training (re)starts at this step: TensorBoard hides events of later steps that came before, which a killed
  // run left behind.
  void add_session_start(int64_t step);

  // Hands all events so far to the operating system.
  void flush();
  // Of the file being written.
  std::string path() const;

 private:
  void add(std::string event);
  void flush_locked();
  void open_file();
  void write_pending();

  const std::string directory_;
  FileSystem& files_;
  const EventWriterOptions options_;
  mutable std::mutex mutex_;
  std::string path_;                                              // guarded by mutex_, as is all below
  std::unique_ptr<RecordWriter> writer_;                          // null after a failure
  std::vector<std::string> pending_;                              // serialized events since the last flush
  double flushed_at_ = -std::numeric_limits<double>::infinity();  // steady seconds: the first event goes at once
};

}  // namespace belfry
