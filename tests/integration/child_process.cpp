#include "child_process.h"

#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill is not in <csignal>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "core/error.h"

namespace belfry::testing {

ChildProcess::ChildProcess(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const int error = posix_spawn(&pid_, arguments[0], nullptr, nullptr, arguments.data(), environ);
  if (error != 0) fail(ErrorKind::kIo, command[0], " cannot be started: ", std::strerror(error));
}

ChildProcess::~ChildProcess() {
  if (ended_) return;
  send(SIGKILL);
  wait();
}

void ChildProcess::send(int signal) {
  if (!ended_) kill(pid_, signal);
}

bool ChildProcess::running() {
  int status = 0;
  if (!ended_ && waitpid(pid_, &status, WNOHANG) == pid_) note(status);
  return !ended_;
}

ExitStatus ChildProcess::wait() {
  int status = 0;
  if (!ended_ && waitpid(pid_, &status, 0) == pid_) note(status);
  return status_;
}

void ChildProcess::note(int status) {
  ended_ = true;
  if (WIFEXITED(status)) status_.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) status_.signal = WTERMSIG(status);
}

}  // namespace belfry::testing
