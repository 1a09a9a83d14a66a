#include "data/internal/numpy_source.h"

#include "core/error.h"
#include "core/file_system.h"
#include "data/internal/describe_file.h"
#include "data/internal/npy_file.h"
#include "data/internal/tensor_source.h"

namespace belfry::data_internal {
namespace {

Labels take_labels(Features& arrays, const NumpyOptions& options, const std::string& path) {
  require(options.label.empty() || options.labels.empty(), "NumpyOptions: label and labels are both given");
  Labels labels;
  const auto take = [&](const std::string& array, const std::string& name) {
    if (!arrays.contains(array)) {
      std::string names;
      for (const std::string& there : arrays.names()) names += (names.empty() ? "'" : ", '") + there + "'";
      fail(ErrorKind::kNotFound, path, ": there is no array '", array, "' for the labels; there are ", names);
    }
    labels.set(name, arrays.at(array));
    arrays.erase(array);
  };
  if (!options.label.empty()) take(options.label, "");
  for (const std::string& label : options.labels) take(label, label);
  return labels;
}

}  // namespace

NodePtr read_numpy(const std::string& path, const NumpyOptions& options) {
  FileSystem& system = options.file_system ? *options.file_system : posix_file_system();
  const std::unique_ptr<RandomAccessFile> file = system.open(path);
  Features arrays = read_numpy_file(*file, path);
  Labels labels = take_labels(arrays, options, path);
  try {
    return std::make_shared<TensorSource>(std::move(arrays), std::move(labels),
                                          "numpy[" + describe_ends(*file, path) + "]");
  } catch (const Error& error) {
    fail(error.kind(), path, ": ", error.what());
  }
}

}  // namespace belfry::data_internal
