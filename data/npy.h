// Files of NumPy.
#pragma once

#include <string>

#include "../core/tensor_dict.h"

namespace belfry {

class FileSystem;

// Arrays as numpy.save, savez and savez_compressed write them, in the formats 1.0 to 3.0: C or Fortran order and either
// byte order, which come out row-major and native. Booleans, int8 to int64, uint8 to uint64, float16 to float64,
// complex64 and complex128 become tensors of the same type (LibTorch does little with uint16, uint32 and uint64); byte
// strings ('S') become a StringTensor, and so does text ('U'), as UTF-8. `file_system`, used during the call only, is
// the machine's own where it is null.
//
// Memory is asked for once the file is known to hold that much. All errors name the file (and entry): kNotFound and kIo
// as FileSystem says; kDataLoss for a file that is cut off, has bytes left over, or whose header or checksum is wrong;
// kInvalidArgument for a file of another kind, and for arrays of objects, records, dates and other types.

// The array of a .npy file, as the only entry, under the empty name.
Features read_npy(const std::string& path, FileSystem* file_system = nullptr);

// The arrays of a .npz file, by their names there and in their order. kInvalidArgument also for entries that are no
// array, are encrypted, or compressed by another method than deflate.
Features read_npz(const std::string& path, FileSystem* file_system = nullptr);

}  // namespace belfry
