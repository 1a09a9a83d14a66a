// The key under which a part of a partitioned variable is found in the index.
//
// It has to sort as its parts do: a zero byte, the name, the rank, and start and length of each dimension, in an
// order-preserving code. A name is written with 0x00 as 00 ff and 0xff as ff 00, and ends with 00 01. A count is its
// number of bytes, then those. A signed number of up to 6 bits is one byte with the top bit flipped; each further 7
// bits add a byte and a leading one, as UTF-8 does.
#pragma once

#include <string>

#include "belfry/core/tensor_bundle.pb.h"

namespace belfry {

// A dimension without a length is whole.
std::string slice_key(const std::string& name, const proto::TensorSliceProto& slice);

bool is_slice_key(const std::string& key);

// A key as a person reads it: the name of the variable, for a slice too.
std::string readable_key(const std::string& key);

}  // namespace belfry
