// Values in order.
#include "export/internal/import/import_table.h"

namespace belfry::internal {
namespace {

std::vector<GraphValue> both(const std::pair<GraphValue, GraphValue>& ordered) {
  return {ordered.first, ordered.second};
}

Item top_k(Call& call) {
  return both(call.graph().top_k(call.tensor("self"), call.extent("k"), call.integer_or("dim", -1),
                                 call.flag_or("largest", true)));
}

std::pair<GraphValue, GraphValue> ordered(Call& call) {
  const GraphValue x = call.tensor("self");
  const int64_t axis = call.has("dim") ? call.integer("dim") : -1;
  return call.graph().top_k(x, call.graph().size(x, axis), axis, call.flag_or("descending", false));
}

Item sort(Call& call) { return both(ordered(call)); }
Item argsort(Call& call) { return ordered(call).second; }

}  // namespace

void add_sorting(ImportTable& table) { table.insert({{"topk", top_k}, {"sort", sort}, {"argsort", argsort}}); }

}  // namespace belfry::internal
