#include "export/name_mangling.h"

#include <set>
#include <string>

#include "tests/support/check_fails.h"
#include "tests/testing.h"

using namespace belfry;

namespace {

bool is_identifier(const std::string& text) {
  const auto fits = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(), fits);
}

// All strings of up to `length` letters of an alphabet in which every rule of the mangling meets every other.
void all_strings(const std::string& alphabet, size_t length, const std::string& prefix, std::set<std::string>& into) {
  if (!prefix.empty()) into.insert(prefix);
  if (prefix.size() == length) return;
  for (const char c : alphabet) all_strings(alphabet, length, prefix + c, into);
}

}  // namespace

TEST_CASE("Names of variables stay readable", "[export]") {
  CHECK(mangle_name("dnn/hiddenlayer_0/kernel") == "dnn__hiddenlayer_0__kernel");
  CHECK(mangle_name("x") == "x");
  CHECK(mangle_name("a.b") == "a_x2Eb");
  CHECK(mangle_name("0") == "_x30");
  CHECK(mangle_name("class") == "_x63lass");
  CHECK(mangle_name("forward") == "_x66orward");
}

TEST_CASE("Mangling can be undone and never makes two names one", "[export]") {
  std::set<std::string> names;
  all_strings("_/x.2a", 5, "", names);
  names.insert({"Größe", "with space", "a:b", std::string("nul\0byte", 8), "training", "weight_x2E"});
  std::set<std::string> mangled;
  for (const std::string& name : names) {
    const std::string identifier = mangle_name(name);
    if (!is_identifier(identifier) || demangle_name(identifier) != name) FAIL(name << " became " << identifier);
    mangled.insert(identifier);
  }
  CHECK(mangled.size() == names.size());
}

TEST_CASE("A text that no name mangles to is refused", "[export]") {
  for (const char* text : {"a_x", "a_x2", "a_xZZ", "_", "a.b", "_x61", "class"}) {
    CHECK_FAILS(demangle_name(text), ErrorKind::kInvalidArgument, text);
  }
}
