#include "data/npy.h"

#include "core/error.h"
#include "core/file_system.h"
#include "data/internal/npy_file.h"

namespace belfry {
namespace {

std::unique_ptr<RandomAccessFile> open(const std::string& path, FileSystem* file_system) {
  return (file_system ? *file_system : posix_file_system()).open(path);
}

}  // namespace

Features read_npy(const std::string& path, FileSystem* file_system) {
  return data_internal::read_npy_file(*open(path, file_system), path);
}

Features read_npz(const std::string& path, FileSystem* file_system) {
  return data_internal::read_npz_file(*open(path, file_system), path);
}

}  // namespace belfry
