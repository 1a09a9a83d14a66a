#include "export/internal/import/import_table.h"

namespace belfry::internal {
namespace {

ImportTable make_table() {
  ImportTable table;
  for (const auto add :
       {add_activations,   add_attention,      add_comparisons, add_convolutions, add_creation,       add_distances,
        add_elementwise,   add_embedding_bags, add_indexing,    add_joins,        add_linear_algebra, add_losses,
        add_normalization, add_padding,        add_pooling,     add_recurrent,    add_reductions,     add_resizing,
        add_shapes,        add_sorting,        add_windows}) {
    add(table);
  }
  return table;
}

}  // namespace

const ImportTable& import_table() {
  static const ImportTable table = make_table();
  return table;
}

}  // namespace belfry::internal
