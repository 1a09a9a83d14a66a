// The one exception type of Belfry, and the one place that throws it.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

namespace belfry {

enum class ErrorKind {
  kInvalidArgument,     // a value, shape, name or option that can never be right
  kNotFound,            // a file, variable, key or column that is not there
  kAlreadyExists,       // a name taken twice
  kFailedPrecondition,  // a right call at the wrong time (no checkpoint yet, a parameter made in forward)
  kOutOfRange,          // a label outside its classes, a position past the end
  kDataLoss,            // bytes on disk that are truncated or fail their checksum
  kIo,                  // the operating system said no; the message has its words
  kNanLoss,             // the loss of a step is not a number
  kAborted,             // this replica was stopped because another one failed; never what a caller sees first
  kUnimplemented,       // a wish that a format or device cannot express
  kInternal,            // a fault of Belfry itself
};

// "invalid argument", "not found" and so on.
const char* to_string(ErrorKind kind);

// What every failure inside Belfry throws. what() is the message alone: the value given, what was wanted, and where.
// A failed call leaves the object that it was made on usable and writes no half file.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}

  ErrorKind kind() const noexcept { return kind_; }

 private:
  ErrorKind kind_;
};

[[noreturn]] void throw_error(ErrorKind kind, const std::string& message);

// The parts, written one after another.
template <class... Parts>
std::string concat(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return std::move(out).str();
}

// Throws Error(kind, all parts written one after another).
template <class... Parts>
[[noreturn]] void fail(ErrorKind kind, const Parts&... parts) {
  throw_error(kind, concat(parts...));
}

// fail(kInvalidArgument, parts...) unless `condition` holds.
template <class... Parts>
void require(bool condition, const Parts&... parts) {
  if (!condition) fail(ErrorKind::kInvalidArgument, parts...);
}

}  // namespace belfry
