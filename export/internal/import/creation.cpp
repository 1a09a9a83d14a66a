// Tensors made of a shape.
#include "export/internal/import/import_table.h"

namespace belfry::internal {
namespace {

GraphValue filled(Call& call, GraphValue number, const Extents& shape) { return call.graph().broadcast(number, shape); }

GraphValue filled(Call& call, double number, const Extents& shape) {
  return filled(call, call.graph().scalar(number, call.dtype()), shape);
}

Item zeros(Call& call) { return filled(call, 0, call.extents("size")); }
Item ones(Call& call) { return filled(call, 1, call.extents("size")); }
Item full(Call& call) { return filled(call, call.operand("fill_value", call.dtype()), call.extents("size")); }

Extents shape_of_self(Call& call) { return call.graph().sizes(call.tensor("self")); }

Item zeros_like(Call& call) { return filled(call, 0, shape_of_self(call)); }
Item ones_like(Call& call) { return filled(call, 1, shape_of_self(call)); }
Item full_like(Call& call) { return filled(call, call.operand("fill_value", call.dtype()), shape_of_self(call)); }
Item fill(Call& call) { return filled(call, call.operand("value", call.dtype()), shape_of_self(call)); }
Item copy(Call& call) { return filled(call, call.operand("src", call.dtype()), shape_of_self(call)); }

GraphValue operand_or(Call& call, std::string_view name, int64_t otherwise) {
  return call.has(name) ? call.operand(name, call.dtype()) : call.graph().scalar(otherwise, call.dtype());
}

Item arange(Call& call) {
  return call.graph().range(operand_or(call, "start", 0), call.operand("end", call.dtype()),
                            operand_or(call, "step", 1));
}

Item scalar_tensor(Call& call) { return call.operand("s", call.dtype()); }

}  // namespace

void add_creation(ImportTable& table) {
  table.insert({{"zeros", zeros},
                {"new_zeros", zeros},
                {"empty", zeros},  // filled before it is read, or refused while tracing
                {"new_empty", zeros},
                {"ones", ones},
                {"new_ones", ones},
                {"full", full},
                {"new_full", full},
                {"zeros_like", zeros_like},
                {"empty_like", zeros_like},
                {"zero", zeros_like},
                {"ones_like", ones_like},
                {"full_like", full_like},
                {"fill", fill},
                {"copy", copy},
                {"arange", arange},
                {"scalar_tensor", scalar_tensor}});
}

}  // namespace belfry::internal
