#include "export/internal/lowering_problem.h"

#include <map>
#include <set>

#include "core/error.h"

namespace belfry::internal {

std::vector<std::string> problem_texts(const std::vector<LoweringProblem>& problems) {
  std::map<std::string, std::set<std::string>> places;
  std::map<std::string, size_t> counts;
  for (const LoweringProblem& problem : problems) {
    const std::string text = concat(problem.operation, ": ", problem.reason);
    ++counts[text];
    if (!problem.place.empty()) places[text].insert(problem.place);
  }
  std::vector<std::string> texts;
  for (const auto& [text, count] : counts) {
    std::string line = count > 1 ? concat(text, ", ", count, " times") : text;
    const char* separator = " (near ";
    for (const std::string& place : places[text]) {
      line += concat(separator, "'", place, "'");
      separator = ", ";
    }
    texts.push_back(places[text].empty() ? line : line + ")");
  }
  return texts;
}

std::string folder_of(const std::string& variable) {
  const size_t slash = variable.rfind('/');
  return slash == std::string::npos ? "" : variable.substr(0, slash);
}

}  // namespace belfry::internal
