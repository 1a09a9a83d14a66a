// Bytes one after another.
#pragma once

#include <cstdint>

namespace belfry::internal {

class ByteReader {
 public:
  virtual ~ByteReader() = default;
  // How many bytes there are still. They need not all be readable.
  virtual uint64_t left() const = 0;
  // The next `length` bytes, of which no more than left() may be asked for. kDataLoss when they are not there.
  virtual void read(uint64_t length, char* to) = 0;
};

}  // namespace belfry::internal
