// One target for libFuzzer: BELFRY_FUZZ_TARGET names it. With --write-seeds=FOLDER as its only argument the program
// writes the target's seeds there, for a corpus to begin with, and ends.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/file_system.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  constexpr std::string_view kOption = "--write-seeds=";
  const std::string_view first = *argc == 2 ? (*argv)[1] : "";
  if (!first.starts_with(kOption)) return 0;
  const std::string folder(first.substr(kOption.size()));
  belfry::posix_file_system().make_directories(folder);
  int count = 0;
  for (const std::string& seed : belfry::fuzz::BELFRY_FUZZ_TARGET.seeds()) {
    const std::string path = belfry::join_path(folder, "seed-" + std::to_string(count++));
    belfry::write_file_atomically(belfry::posix_file_system(), path, seed);
  }
  std::exit(0);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  belfry::fuzz::BELFRY_FUZZ_TARGET.run({reinterpret_cast<const char*>(data), size});
  return 0;
}
