// An array of NumPy as a value.
#pragma once

#include <string>

#include "core/tensor_dict.h"
#include "core/internal/byte_reader.h"

namespace belfry::data_internal {

// Header and array, which have to be all of `bytes`. `where` opens all messages. See read_npy for types and errors.
Value read_npy_array(internal::ByteReader& bytes, const std::string& where);

}  // namespace belfry::data_internal
