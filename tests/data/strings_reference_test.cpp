// Hashes, vocabularies, crossed categories and parsed examples of TensorFlow (tests/reference/strings.json).
#include <map>

#include "tests/data/string_cases.h"
#include "tests/support/reference.h"

using namespace belfry::testing;

TEST_CASE("strings and examples give TensorFlow's numbers and errors", "[core][data][E101][E102][E103][E104]") {
  const Json cases = reference("strings")["cases"];
  std::map<std::string, int> seen;
  for (const Json& string_case : cases) {
    INFO(string_case.dump());
    CHECK(string_case_difference(string_case) == "");
    ++seen[string_case["op"].get<std::string>() + (string_case.contains("error") ? " error" : "")];
  }
  for (const char* kind :
       {"hash_bucket", "as_string", "cross", "vocabulary", "vocabulary error", "parse", "parse error"}) {
    INFO(kind);
    CHECK(seen[kind] > 0);
  }
}
