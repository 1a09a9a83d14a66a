// Open files of NumPy.
#pragma once

#include <string>

#include "core/file_system.h"
#include "core/tensor_dict.h"

namespace belfry::data_internal {

// See read_npy and read_npz. `path` opens all messages.
Features read_npy_file(const RandomAccessFile& file, const std::string& path);
Features read_npz_file(const RandomAccessFile& file, const std::string& path);
// Whichever the file's first bytes say.
Features read_numpy_file(const RandomAccessFile& file, const std::string& path);

}  // namespace belfry::data_internal
