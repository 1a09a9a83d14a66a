// Another program, run and killed by a test.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace belfry::testing {

// How a program ended: by exit() with a code, or by a signal.
struct ExitStatus {
  int code = -1;
  int signal = 0;
};

// Starts at construction; killed and waited for, if it still runs, at destruction.
class ChildProcess {
 public:
  // kIo when it cannot be started. command[0] is the path of the program.
  explicit ChildProcess(const std::vector<std::string>& command);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  void send(int signal);
  bool running();
  // Waits for the end.
  ExitStatus wait();

 private:
  void note(int status);

  pid_t pid_;
  bool ended_ = false;
  ExitStatus status_;
};

}  // namespace belfry::testing
