// Each target of fuzz_target.h with mutations of its seeds: results or an Error, in bounded memory.
#include "tests/fuzz/fuzz_target.h"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <random>

#include "tests/support/sanitized.h"
#include "tests/testing.h"

using namespace belfry;

namespace {

// So much more address space than the process has now: whoever believes a hostile size fails with std::bad_alloc, which
// no target takes for an Error. Sanitizers need the address space for themselves.
class MemoryLimit {
 public:
  explicit MemoryLimit(uint64_t bytes) {
    getrlimit(RLIMIT_AS, &before_);
    uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit limit = before_;
    limit.rlim_cur = pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) + bytes;
    limited_ =
        !testing::kSanitized && pages > 0 && limit.rlim_cur < before_.rlim_cur && setrlimit(RLIMIT_AS, &limit) == 0;
  }
  ~MemoryLimit() {
    if (limited_) setrlimit(RLIMIT_AS, &before_);
  }
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

 private:
  rlimit before_{};
  bool limited_ = false;
};

std::string mutated(std::string bytes, const std::string& other, std::mt19937_64& random) {
  constexpr std::string_view kLikely("\x00\x01\x02\x08\x0a\x12\x1a\x22\x7f\x80\xfe\xff", 12);
  const auto below = [&](size_t bound) { return static_cast<size_t>(random() % bound); };
  for (size_t changes = 1 + below(4); changes > 0 && !bytes.empty(); --changes) {
    const size_t at = below(bytes.size());
    const char byte = below(2) == 0 ? static_cast<char>(random()) : kLikely[below(kLikely.size())];
    switch (below(9)) {
      case 0:
        bytes.insert(at, 1 + below(10), byte);
        break;
      case 1:
        bytes.erase(at, 1 + below(10));
        break;
      case 2:
        if (below(8) == 0) bytes.resize(at);
        break;
      case 3:
        bytes.insert(at, bytes.substr(below(bytes.size()), below(40)));
        break;
      case 4:
        bytes.insert(at, other.substr(below(other.size()), below(40)));
        break;
      case 5:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
        break;
      default:
        bytes[at] = byte;
    }
  }
  return bytes;
}

void check_survives(const fuzz::FuzzTarget& target, int times) {
  std::mt19937_64 random(24);
  const MemoryLimit limit(uint64_t{256} << 20);
  std::vector<std::string> pool = target.seeds();
  for (const std::string& seed : pool) REQUIRE(target.run(seed));
  const size_t seeds = pool.size();
  int understood = 0;
  int refused = 0;
  for (int i = 0; i < testing::repetitions(times); ++i) {
    const std::string bytes = mutated(pool[random() % pool.size()], pool[random() % pool.size()], random);
    const bool read = target.run(bytes);
    ++(read ? understood : refused);
    // Mutations of what was understood go deeper.
    if (read && !bytes.empty() && bytes.size() < 4096) {
      if (pool.size() < 200) {
        pool.push_back(bytes);
      } else {
        pool[seeds + random() % (pool.size() - seeds)] = bytes;
      }
    }
  }
  CHECK(understood > times / 500);
  CHECK(refused > times / 500);
}

void check_stands_noise(const fuzz::FuzzTarget& target, int times) {
  std::mt19937_64 random(25);
  const MemoryLimit limit(uint64_t{256} << 20);
  for (int i = 0; i < testing::repetitions(times); ++i) {
    std::string bytes(random() % 120, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random() % 3 == 0 ? random() % 16 : random());
    CHECK_NOTHROW(target.run(bytes));
  }
}

}  // namespace

TEST_CASE("mutated examples give tensors or an error", "[fuzz][data]") {
  check_survives(fuzz::example_target, 40000);
  check_stands_noise(fuzz::example_target, 4000);
}

TEST_CASE("mutated record files give records or an error", "[fuzz][core]") {
  check_survives(fuzz::record_target, 40000);
  check_stands_noise(fuzz::record_target, 4000);
}

TEST_CASE("mutated checkpoints give values or an error", "[fuzz][checkpoint]") {
  check_survives(fuzz::checkpoint_target, 40000);
  check_stands_noise(fuzz::checkpoint_target, 4000);
}

TEST_CASE("mutated saved models give a message or none", "[fuzz][export]") {
  check_survives(fuzz::saved_model_target, 20000);
  check_stands_noise(fuzz::saved_model_target, 4000);
}

TEST_CASE("descriptions of receivers of any bytes are read or refused", "[export][fuzz]") {
  check_survives(fuzz::receiver_target, 5000);
  check_stands_noise(fuzz::receiver_target, 2000);
}
