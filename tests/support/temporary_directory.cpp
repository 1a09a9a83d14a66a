#include "tests/support/temporary_directory.h"

#include <stdlib.h>

#include <filesystem>

#include "core/error.h"
#include "core/file_system.h"

namespace belfry::testing {

TemporaryDirectory::TemporaryDirectory() : path_((std::filesystem::temp_directory_path() / "belfry_XXXXXX").string()) {
  if (!::mkdtemp(path_.data())) fail(ErrorKind::kIo, "cannot make a folder like '", path_, "'");
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryDirectory::file(std::string_view name) const { return join_path(path_, name); }

}  // namespace belfry::testing
