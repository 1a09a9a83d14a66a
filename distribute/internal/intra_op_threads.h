// Threads of one operation, for the calling thread alone.
#pragma once

namespace belfry::internal {

// While it lives, operations of the calling thread run on `threads` threads. at::set_num_threads would also change what
// every later thread of the process gets, and MKL's number for all: the thread-local settings of OpenMP and MKL below
// it leave the process as it was. Where LibTorch has neither, nothing is changed.
class IntraOpThreads {
 public:
  explicit IntraOpThreads(int threads);
  ~IntraOpThreads();
  IntraOpThreads(const IntraOpThreads&) = delete;
  IntraOpThreads& operator=(const IntraOpThreads&) = delete;

 private:
  int openmp_before_;
  int mkl_before_ = 0;
};

}  // namespace belfry::internal
