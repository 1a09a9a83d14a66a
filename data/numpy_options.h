// How a file of NumPy becomes features and labels.
#pragma once

#include <string>
#include <vector>

namespace belfry {

class FileSystem;

struct NumpyOptions {
  // The array that becomes the only entry of the labels, under the empty name; empty means none.
  std::string label = {};
  // Several arrays of labels, each under its own name. Not together with `label`.
  std::vector<std::string> labels = {};
  // Where the path is looked up; null is the machine's own file system. Used during from_numpy only.
  FileSystem* file_system = nullptr;
};

}  // namespace belfry
