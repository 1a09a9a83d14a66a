#include "core/log.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <memory>
#include <mutex>
#include <utility>

namespace belfry {
namespace {

void write_to_standard_error(LogLevel level, std::string_view message) {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm local{};
  localtime_r(&now, &local);
  char time[32];
  std::strftime(time, sizeof(time), "%Y-%m-%d %H:%M:%S", &local);
  const std::string line = concat(time, " ", to_string(level), " ", message, "\n");
  std::fwrite(line.data(), 1, line.size(), stderr);  // in one call, so that lines of several processes stay whole
}

struct Log {
  std::recursive_mutex mutex;  // a sink may log
  std::shared_ptr<const LogSink> sink = std::make_shared<const LogSink>(write_to_standard_error);
  bool is_default = true;
  std::atomic<LogLevel> level = LogLevel::kInfo;
};

// Never destroyed: objects that live as long as the process may log when they end.
Log& the_log() {
  static Log* log = new Log;
  return *log;
}

}  // namespace

const char* to_string(LogLevel level) {
  switch (level) {
    case LogLevel::kInfo:
      return "INFO";
    case LogLevel::kWarning:
      return "WARNING";
    case LogLevel::kOff:
      return "OFF";
  }
  return "UNKNOWN";
}

LogSink set_log_sink(LogSink sink) {
  Log& log = the_log();
  const std::lock_guard lock(log.mutex);
  LogSink before = log.is_default ? LogSink() : *log.sink;
  log.is_default = !sink;
  log.sink = std::make_shared<const LogSink>(sink ? std::move(sink) : LogSink(write_to_standard_error));
  return before;
}

LogLevel set_log_level(LogLevel level) { return the_log().level.exchange(level); }

LogLevel log_level() { return the_log().level.load(std::memory_order_relaxed); }

void write_log(LogLevel level, const std::string& message) {
  Log& log = the_log();
  const std::lock_guard lock(log.mutex);
  const std::shared_ptr<const LogSink> sink = log.sink;  // stays whole when it replaces itself
  (*sink)(level, message);
}

}  // namespace belfry
