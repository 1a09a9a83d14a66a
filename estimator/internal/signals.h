// SIGINT and SIGTERM as a wish to stop.
#pragma once

namespace belfry::internal {

// While it lives (and `enabled`), the two signals are noted instead of ending the process; a second one of a kind ends
// it as always. The handlers of before come back with its destruction. One object at a time has an effect; those made
// meanwhile only look.
class SignalWatch {
 public:
  explicit SignalWatch(bool enabled);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  // The number of the signal that came since the handlers were installed, or 0.
  int received() const;

 private:
  bool owner_ = false;
};

}  // namespace belfry::internal
