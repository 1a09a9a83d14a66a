// SIGINT and SIGTERM as a wish to stop.
#pragma once

namespace belfry::internal {

// While one lives (and is `enabled`), the two signals are noted instead of ending the process, for all that live; a
// second one of a kind ends it as always. A signal that the process ignores stays ignored. With the last one the
// handlers of before come back, and a signal that nobody has acted on is raised again, so that it is not lost. Threads
// may each have their own.
class SignalWatch {
 public:
  explicit SignalWatch(bool enabled);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  // The number of the signal that came since the handlers were installed, or 0.
  int received() const;
  // The owner stops because of it.
  void acknowledge();

 private:
  bool enabled_;
};

}  // namespace belfry::internal
