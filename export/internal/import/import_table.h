// The operations of LibTorch that can be imported, by name.
#pragma once

#include <string>
#include <unordered_map>

#include "export/internal/import/call.h"

namespace belfry::internal {

// Adds the nodes for one call and gives its result: a value, or a list for several outputs and for a list of tensors.
using ImportFunction = Item (*)(Call& call);

// Keys have neither "aten::" nor the underscore of operations in place.
using ImportTable = std::unordered_map<std::string, ImportFunction>;

// One for each family; a new operation is an entry in one of them.
void add_activations(ImportTable& table);
void add_attention(ImportTable& table);
void add_comparisons(ImportTable& table);
void add_convolutions(ImportTable& table);
void add_creation(ImportTable& table);
void add_distances(ImportTable& table);
void add_elementwise(ImportTable& table);
void add_embedding_bags(ImportTable& table);
void add_indexing(ImportTable& table);
void add_joins(ImportTable& table);
void add_linear_algebra(ImportTable& table);
void add_losses(ImportTable& table);
void add_normalization(ImportTable& table);
void add_padding(ImportTable& table);
void add_pooling(ImportTable& table);
void add_recurrent(ImportTable& table);
void add_reductions(ImportTable& table);
void add_resizing(ImportTable& table);
void add_shapes(ImportTable& table);
void add_sorting(ImportTable& table);
void add_windows(ImportTable& table);

// All of them.
const ImportTable& import_table();

}  // namespace belfry::internal
