#include "distribute/internal/intra_op_threads.h"

#include <ATen/Parallel.h>
#include <dlfcn.h>

namespace belfry::internal {
namespace {

// Looked up at run time: linking OpenMP would bring a second runtime beside the one of the wheel.
template <class Function>
Function* symbol(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

void set_openmp_threads(int threads) {
  static auto* const set = symbol<void(int)>("omp_set_num_threads");
  if (set) set(threads);
}

int set_mkl_threads(int threads) {
  static auto* const set = symbol<int(int)>("MKL_Set_Num_Threads_Local");
  return set ? set(threads) : 0;
}

}  // namespace

IntraOpThreads::IntraOpThreads(int threads)
    : openmp_before_(
          at::get_num_threads()) {  // also makes LibTorch set up this thread, which would undo a later change
  set_openmp_threads(threads);
  mkl_before_ = set_mkl_threads(threads);
}

IntraOpThreads::~IntraOpThreads() {
  set_openmp_threads(openmp_before_);
  set_mkl_threads(mkl_before_);
}

}  // namespace belfry::internal
