// Keeps the log's messages while it lives.
#pragma once

#include <string>
#include <string_view>

#include "core/log.h"

namespace belfry::testing {

class LogCatcher {
 public:
  LogCatcher()
      : before_(set_log_sink([this](LogLevel, std::string_view message) { text_ += std::string(message) + "\n"; })) {}
  LogCatcher(const LogCatcher&) = delete;
  LogCatcher& operator=(const LogCatcher&) = delete;
  ~LogCatcher() { set_log_sink(before_); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  LogSink before_;
};

}  // namespace belfry::testing
