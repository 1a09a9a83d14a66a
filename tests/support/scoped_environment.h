// Environment variables for as long as a test needs them.
#pragma once

#include <cstdlib>
#include <map>
#include <optional>
#include <string>

namespace belfry::testing {

// Sets the variables given (an empty optional unsets), and puts back what was there. For tests of one thread.
class ScopedEnvironment {
 public:
  using Values = std::map<std::string, std::optional<std::string>>;

  explicit ScopedEnvironment(const Values& values) {
    for (const auto& [name, value] : values) {
      const char* old = std::getenv(name.c_str());
      before_[name] = old ? std::optional<std::string>(old) : std::nullopt;
      set(name, value);
    }
  }
  ~ScopedEnvironment() {
    for (const auto& [name, value] : before_) set(name, value);
  }
  ScopedEnvironment(const ScopedEnvironment&) = delete;
  ScopedEnvironment& operator=(const ScopedEnvironment&) = delete;

 private:
  static void set(const std::string& name, const std::optional<std::string>& value) {
    if (value) {
      ::setenv(name.c_str(), value->c_str(), /*overwrite=*/1);
    } else {
      ::unsetenv(name.c_str());
    }
  }

  Values before_;
};

}  // namespace belfry::testing
