// Reads what EventFileWriter and TensorFlow wrote: for hooks that look at the metrics so far, and for tests.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "../../core/file_system.h"
#include "../../core/record_io.h"

namespace belfry {

struct SummaryHistogram {
  double min = 0;
  double max = 0;
  double num = 0;
  double sum = 0;
  double sum_squares = 0;
  std::vector<double> bucket_limits;  // upper ends, ascending
  std::vector<double> buckets;        // elements below each end and not below the one before
};

struct SummaryValue {
  std::string tag;
  // A scalar, a text, a histogram, a tensor; monostate for kinds that Belfry does not write.
  std::variant<std::monostate, double, std::string, SummaryHistogram, at::Tensor> value;
};

struct SummaryEvent {
  double wall_time = 0;  // seconds since 1970
  int64_t step = 0;
  std::string file_version;  // of the first event of a file, else empty
  bool session_start = false;
  std::vector<SummaryValue> values;
};

// Reads one file from its start. A file that ends inside an event, as a killed or working writer leaves it, ends there;
// next() may be called again when it has grown. Used by one thread.
class EventFileReader {
 public:
  EventFileReader(FileSystem& files, const std::string& path);

  // False at the end. kDataLoss, with the path, for damage before it.
  bool next(SummaryEvent& event);

 private:
  std::string path_;
  RecordReader records_;
};

// Paths of the event files of a folder, in the order of their names, which is that of time. Empty when there is no such
// folder.
std::vector<std::string> list_event_files(FileSystem& files, const std::string& directory);

// All scalars of a folder's event files, by step and tag; the last one written wins. Empty when there is no such
// folder.
std::map<int64_t, std::map<std::string, double>> read_scalars(FileSystem& files, const std::string& directory);

}  // namespace belfry
