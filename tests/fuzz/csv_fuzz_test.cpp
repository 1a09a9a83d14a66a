// Bytes of any kind give rows or an Error, never anything else.
#include <random>
#include <set>

#include "core/error.h"
#include "data/internal/csv_table.h"
#include "tests/testing.h"

using namespace belfry;

namespace {

const std::string kSeed =
    "name,\"n\",label\r\n\"a, \"\"b\"\"\",1.5,x\r\n\xEF\xBB\xBF"
    "c,-2e3,\"y\nz\"\nNA,,q\n";

std::string mutated(std::string text, std::mt19937_64& random) {
  constexpr std::string_view kLikely = "\",\n\r0.e-N ;\xEF\xBB\xBF\0a";
  const auto below = [&](size_t bound) { return static_cast<size_t>(random() % bound); };
  for (size_t changes = 1 + below(8); changes > 0; --changes) {
    const size_t at = below(text.size() + 1);
    const char byte = below(4) == 0 ? static_cast<char>(random()) : kLikely[below(kLikely.size())];
    switch (below(5)) {
      case 0:
        text.insert(at, 1, byte);
        break;
      case 1:
        text.erase(at, 1 + below(3));
        break;
      case 2:
        text.insert(at, text.substr(below(text.size() + 1), below(20)));
        break;
      case 3:
        text.resize(at);
        break;
      default:
        if (at < text.size()) text[at] = byte;
    }
  }
  return text;
}

// Checks what was read; true for rows, false for an Error.
bool read(const std::string& text, const CsvOptions& options) {
  try {
    data_internal::CsvTable table(options);
    table.read(text, "fuzz.csv");
    const Batch batch = table.finish();
    REQUIRE(batch.features.rows() > 0);
    return true;
  } catch (const Error& error) {
    REQUIRE(std::set{ErrorKind::kInvalidArgument, ErrorKind::kNotFound}.contains(error.kind()));
    REQUIRE_THAT(error.what(), Catch::Contains("fuzz.csv"));
    return false;
  }
}

}  // namespace

TEST_CASE("mutated CSV files give rows or an error", "[fuzz][data]") {
  std::mt19937_64 random(20);
  const CsvOptions plain;
  const CsvOptions demanding{.label = "label",
                             .dtypes = {{"n", CsvType::kInt64}},
                             .infer_integers = true,
                             .na_values = {"NA"},
                             .defaults = {{"n", "0"}}};
  const CsvOptions headless{.header = false, .column_names = {"p", "q", "r"}};
  int64_t rows = 0;
  int64_t errors = 0;
  for (int i = 0; i < 6000; ++i) {
    const std::string text = mutated(kSeed, random);
    for (const CsvOptions* options : {&plain, &demanding, &headless}) ++(read(text, *options) ? rows : errors);
  }
  CHECK(rows > 200);
  CHECK(errors > 200);
}

TEST_CASE("random bytes give rows or an error", "[fuzz][data]") {
  std::mt19937_64 random(21);
  int64_t rows = 0;
  for (int i = 0; i < 6000; ++i) {
    std::string text(random() % 60, '\0');
    for (char& byte : text) byte = static_cast<char>(random() % 8 == 0 ? '\n' : random());
    rows += read(text, {});
  }
  CHECK(rows > 0);
}
