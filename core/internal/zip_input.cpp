#include "core/internal/zip_input.h"

#include <algorithm>

namespace belfry::internal {

int64_t ZipInput::read(void* to, uint64_t length) {
  length = std::min(length, size - at);
  try {
    file.read(at, length, static_cast<char*>(to));
  } catch (...) {
    failure = std::current_exception();
    zip_error_set(&error, ZIP_ER_READ, 0);
    return -1;
  }
  at += length;
  return static_cast<int64_t>(length);
}

int64_t ZipInput::seek(void* data, uint64_t length) {
  const int64_t to = zip_source_seek_compute_offset(at, size, data, length, &error);
  if (to < 0) return -1;
  at = static_cast<uint64_t>(to);
  return 0;
}

int64_t ZipInput::describe(void* data, uint64_t length) {
  if (length < sizeof(zip_stat_t)) return -1;
  auto* stat = static_cast<zip_stat_t*>(data);
  zip_stat_init(stat);
  stat->size = size;
  stat->valid |= ZIP_STAT_SIZE;
  return sizeof(zip_stat_t);
}

zip_int64_t ZipInput::serve(void* input, void* data, zip_uint64_t length, zip_source_cmd_t command) {
  auto& source = *static_cast<ZipInput*>(input);
  switch (command) {
    case ZIP_SOURCE_OPEN:
      source.at = 0;
      return 0;
    case ZIP_SOURCE_READ:
      return source.read(data, length);
    case ZIP_SOURCE_SEEK:
      return source.seek(data, length);
    case ZIP_SOURCE_TELL:
      return static_cast<zip_int64_t>(source.at);
    case ZIP_SOURCE_STAT:
      return source.describe(data, length);
    case ZIP_SOURCE_ERROR:
      return zip_error_to_data(&source.error, data, length);
    case ZIP_SOURCE_CLOSE:
    case ZIP_SOURCE_FREE:
      return 0;
    case ZIP_SOURCE_SUPPORTS:
      return zip_source_make_command_bitmap(ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL,
                                            ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR, ZIP_SOURCE_CLOSE, ZIP_SOURCE_FREE,
                                            ZIP_SOURCE_SUPPORTS, -1);
    default:
      zip_error_set(&source.error, ZIP_ER_OPNOTSUPP, 0);
      return -1;
  }
}

}  // namespace belfry::internal
