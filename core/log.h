// What the library says while it works: lines to standard error, or wherever the application wants them.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "error.h"

namespace belfry {

enum class LogLevel { kInfo, kWarning, kOff };

// "INFO" or "WARNING".
const char* to_string(LogLevel level);

// Takes one message, without a newline or a time. Called by any thread, by one at a time; it may log itself. What it
// throws reaches whoever logged.
using LogSink = std::function<void(LogLevel level, std::string_view message)>;

// Routes all messages to `sink` from now on and returns the one before; an empty one is the default, which writes
// "2026-01-31 12:00:00 WARNING message" in local time to standard error. Threads may call it at any time.
LogSink set_log_sink(LogSink sink);

// Drops messages below `level`; kInfo at the start. Returns the level before. Threads may call it at any time.
LogLevel set_log_level(LogLevel level);
LogLevel log_level();

// One message, whatever its level.
void write_log(LogLevel level, const std::string& message);

// The parts, written one after another, as one message. Parts of a message that is dropped are not written out.
template <class... Parts>
void log_info(const Parts&... parts) {
  if (log_level() <= LogLevel::kInfo) write_log(LogLevel::kInfo, concat(parts...));
}

template <class... Parts>
void log_warning(const Parts&... parts) {
  if (log_level() <= LogLevel::kWarning) write_log(LogLevel::kWarning, concat(parts...));
}

}  // namespace belfry
