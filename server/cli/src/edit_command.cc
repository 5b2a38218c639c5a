#include "edit_command.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>

extern char** environ;

namespace sisal::cli {
namespace {
Error EditError(const std::string& doing) { return Error("58030", doing + ": " + std::strerror(errno)); }

// A file that goes when it has been read.
class TemporaryFile {
 public:
  TemporaryFile() : fd_(mkstemps(path_, 4)) {}
  ~TemporaryFile() {
    if (fd_ < 0) return;
    close(fd_);
    unlink(path_);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  int fd() const { return fd_; }
  const char* path() const { return path_; }

 private:
  char path_[32] = "/tmp/sisal.edit.XXXXXX.sql";
  const int fd_;
};

std::string EditorName() {
  for (const char* name : {"PSQL_EDITOR", "EDITOR", "VISUAL"}) {
    const char* editor = std::getenv(name);
    if (editor != nullptr && *editor != '\0') return editor;
  }
  return "vi";
}

// Runs a command of the shell with the signals as a program expects them: ours are blocked. Returns its exit code.
Result<int> RunShell(const std::string& command) {
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  sigset_t defaults = none;
  sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  char shell[] = "sh";
  char flag[] = "-c";
  std::string text = command;
  char* arguments[] = {shell, flag, text.data(), nullptr};
  pid_t pid = 0;
  errno = posix_spawn(&pid, "/bin/sh", nullptr, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  if (errno != 0) return EditError("could not start /bin/sh");
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return EditError("could not wait for the editor");
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
}  // namespace

Result<std::string> EditText(const std::string& text) {
  const TemporaryFile file;
  if (file.fd() < 0 || write(file.fd(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return EditError("could not write a temporary file");
  }
  const std::string editor = EditorName();
  SISAL_ASSIGN_OR_RETURN(const int code, RunShell("exec " + editor + " " + file.path()));
  if (code != 0) return Error("58030", "the editor \"" + editor + "\" ended with exit code " + std::to_string(code));
  // By its name: an editor may have put another file in its place.
  const std::unique_ptr<FILE, int (*)(FILE*)> saved(std::fopen(file.path(), "re"), &std::fclose);
  if (saved == nullptr) return EditError("could not read the temporary file");
  std::string edited;
  char bytes[4096];
  for (size_t size; (size = std::fread(bytes, 1, sizeof bytes, saved.get())) > 0;) edited.append(bytes, size);
  if (std::ferror(saved.get()) != 0) return EditError("could not read the temporary file");
  return edited;
}
}  // namespace sisal::cli
