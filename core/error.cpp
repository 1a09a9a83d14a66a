#include "core/error.h"

namespace belfry {

const char* to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalidArgument:
      return "invalid argument";
    case ErrorKind::kNotFound:
      return "not found";
    case ErrorKind::kAlreadyExists:
      return "already exists";
    case ErrorKind::kFailedPrecondition:
      return "failed precondition";
    case ErrorKind::kOutOfRange:
      return "out of range";
    case ErrorKind::kDataLoss:
      return "data loss";
    case ErrorKind::kIo:
      return "input/output error";
    case ErrorKind::kNanLoss:
      return "loss is not a number";
    case ErrorKind::kAborted:
      return "aborted";
    case ErrorKind::kUnimplemented:
      return "unimplemented";
    case ErrorKind::kInternal:
      return "internal error";
  }
  return "unknown";
}

void throw_error(ErrorKind kind, const std::string& message) { throw Error(kind, message); }

}  // namespace belfry
