// A folder of its own for a test.
#pragma once

#include <string>
#include <string_view>

namespace belfry::testing {

// Made empty, and removed with all in it at the end of its life.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory();

  const std::string& path() const { return path_; }
  // The path of a file in it.
  std::string file(std::string_view name) const;

 private:
  std::string path_;
};

}  // namespace belfry::testing
