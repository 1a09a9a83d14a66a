// Bytes of any kind give arrays or an Error that names the file, never anything else.
#include <random>
#include <set>

#include "core/error.h"
#include "core/file_system.h"
#include "data/internal/npy_file.h"
#include "tests/support/memory_file.h"
#include "tests/support/test_data.h"
#include "tests/testing.h"

using namespace belfry;
using namespace belfry::testing;

namespace {

std::string mutated(std::string bytes, std::mt19937_64& random) {
  constexpr std::string_view kLikely = "0189(),'<>|fiUSb{} PK\0\xff";
  const auto below = [&](size_t bound) { return static_cast<size_t>(random() % bound); };
  for (size_t changes = 1 + below(6); changes > 0 && !bytes.empty(); --changes) {
    const size_t at = below(bytes.size());
    const char byte = below(2) == 0 ? static_cast<char>(random()) : kLikely[below(kLikely.size())];
    switch (below(6)) {
      case 0:
        bytes.insert(at, 1, byte);
        break;
      case 1:
        bytes.erase(at, 1 + below(3));
        break;
      case 2:
        if (below(8) == 0) bytes.resize(at);
        break;
      default:
        bytes[at] = byte;
    }
  }
  return bytes;
}

// True for arrays, false for an Error.
bool read(const std::string& bytes) {
  try {
    for (const auto& [name, value] : data_internal::read_numpy_file(MemoryFile(bytes), "fuzz")) {
      REQUIRE((value.is_strings() || value.tensor().is_contiguous()));
    }
    return true;
  } catch (const Error& error) {
    REQUIRE(std::set{ErrorKind::kInvalidArgument, ErrorKind::kDataLoss}.contains(error.kind()));
    REQUIRE_THAT(error.what(), Catch::StartsWith("fuzz: ") || Catch::StartsWith("memory: "));
    return false;
  }
}

}  // namespace

TEST_CASE("mutated files of NumPy give arrays or an error", "[fuzz][data]") {
  std::mt19937_64 random(22);
  int64_t arrays = 0;
  int64_t errors = 0;
  for (const char* name : {"version1.npy", "version2.npy", "examples.npz", "deflated.npz", "stored.npz"}) {
    const std::string seed = read_file(posix_file_system(), test_data(std::string("data/numpy/") + name));
    for (int i = 0; i < 3000; ++i) ++(read(mutated(seed, random)) ? arrays : errors);
  }
  CHECK(arrays > 200);
  CHECK(errors > 200);
}

TEST_CASE("random bytes behind the mark of NumPy give an error", "[fuzz][data]") {
  std::mt19937_64 random(23);
  for (int i = 0; i < 6000; ++i) {
    std::string bytes(random() % 80, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    const bool read_any = read((i % 2 == 0 ? "\x93NUMPY\1" + std::string("\0", 1) : "PK\3\4") + bytes);
    REQUIRE_FALSE(read_any);
  }
}
