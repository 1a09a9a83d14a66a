// The C++ half of strings_peer_test.py: strings_peer CASES.json compares Belfry's answers with TensorFlow's.
#include <fstream>
#include <iostream>

#include "core/error.h"
#include "tests/data/string_cases.h"

int main(int argc, char** argv) try {
  using namespace belfry;
  require(argc == 2, "usage: strings_peer CASES.json");
  std::ifstream in(argv[1]);
  int differing = 0;
  for (const auto& string_case : nlohmann::json::parse(in).at("cases")) {
    const std::string difference = testing::string_case_difference(string_case);
    if (difference.empty()) continue;
    std::cerr << difference << "\n  in " << string_case.dump() << '\n';
    ++differing;
  }
  return differing > 0;
} catch (const std::exception& error) {
  std::cerr << "strings_peer: " << error.what() << '\n';
  return 1;
}
