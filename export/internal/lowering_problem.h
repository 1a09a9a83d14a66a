// What a format cannot express of a graph.
#pragma once

#include <string>
#include <vector>

namespace belfry::internal {

// An operation that the format cannot express: where it stands in the model, and why.
struct LoweringProblem {
  std::string operation;
  std::string reason;
  std::string place;
};

// A line for each kind of problem, sorted, with the number of times and all its places.
std::vector<std::string> problem_texts(const std::vector<LoweringProblem>& problems);

// Where the nodes of an operation near that variable go: "net/fc1" of "net/fc1/weight".
std::string folder_of(const std::string& variable);

}  // namespace belfry::internal
