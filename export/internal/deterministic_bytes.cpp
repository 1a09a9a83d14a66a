#include "export/internal/deterministic_bytes.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "core/error.h"

namespace belfry::internal {

std::string deterministic_bytes(const google::protobuf::MessageLite& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  if (!message.SerializeToCodedStream(&coded)) {
    fail(ErrorKind::kInternal, "export: ", message.GetTypeName(), " cannot be written");
  }
  coded.Trim();
  return bytes;
}

}  // namespace belfry::internal
