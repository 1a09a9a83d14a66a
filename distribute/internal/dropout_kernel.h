// Dropout inside a RandomScope.
#pragma once

namespace belfry::internal {

// For a GPU LibTorch has fused dropout, and attention that drops out, which take no generator and move the process's
// own. Registers, once a process, kernels that make the same of operations that do take one. Dropout between the layers
// of a cuDNN RNN is not among them: cuDNN keeps a random state of its own.
void register_dropout();

}  // namespace belfry::internal
