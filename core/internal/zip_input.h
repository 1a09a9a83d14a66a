// A file for libzip.
#pragma once

#include <zip.h>

#include <cstdint>
#include <exception>

#include "core/file_system.h"

namespace belfry::internal {

// What libzip reads of `file`. Exceptions wait here until libzip has returned.
struct ZipInput {
  const RandomAccessFile& file;
  uint64_t size = 0;
  uint64_t at = 0;
  std::exception_ptr failure = nullptr;
  zip_error_t error = {};

  // For zip_source_function_create; `input` is a ZipInput.
  static zip_int64_t serve(void* input, void* data, zip_uint64_t length, zip_source_cmd_t command);

 private:
  int64_t read(void* to, uint64_t length);
  int64_t seek(void* data, uint64_t length);
  int64_t describe(void* data, uint64_t length);
};

}  // namespace belfry::internal
