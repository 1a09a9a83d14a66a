// How text files become lines.
#pragma once

#include <cstdint>

namespace belfry {

class FileSystem;

struct TextLineOptions {
  // So many files are read by turns, a line of each, as tf.data's interleave does; one that ends makes room for the
  // next. 1 reads file after file.
  int64_t cycle_length = 1;
  // Where paths are looked up; null is the machine's own file system. Has to outlive the data set.
  FileSystem* file_system = nullptr;
};

}  // namespace belfry
