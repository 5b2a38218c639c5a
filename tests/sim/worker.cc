#include "worker.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "sisal/base/check.h"
#include "sisal/base/log.h"

namespace sisal::sim {
namespace {

constexpr int kSeedSecondsMax = 60;

// What goes through the socket, both ways; a packet each.
struct Order {
  uint32_t scenario;  // place in Scenarios()
  uint64_t seed;
};
struct Reply {
  uint64_t trace_hash;
  char violation[1000];
};

void Answer(int socket, uint64_t trace_hash, const std::string& violation) {
  Reply reply{};
  reply.trace_hash = trace_hash;
  std::strncpy(reply.violation, violation.c_str(), sizeof(reply.violation) - 1);
  if (::write(socket, &reply, sizeof(reply)) != sizeof(reply)) ::_exit(2);
}

[[noreturn]] void Serve(int socket, Plant plant, bool verbose) {
  SetLogSink(
      verbose
          ? +[](LogLevel,
                std::string_view line) { std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data()); }
          : +[](LogLevel, std::string_view) {});
  Order order;
  while (::read(socket, &order, sizeof(order)) == sizeof(order)) {
    SetPlant(plant);
    Run run(order.seed);
    run.on_stuck = [&](const std::string& report) {
      Answer(socket, 0, run.failed() ? run.violation : "stuck: " + report);
      ::_exit(0);
    };
    Scenarios()[order.scenario].play(run);
    Answer(socket, run.trace_hash, run.violation);
  }
  ::_exit(0);
}

// A child and what it writes to standard error, of which a failed check is the first line.
class Child {
 public:
  Child(Plant plant, bool verbose) {
    int sockets[2];
    SISAL_CHECK(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets) == 0);
    errors_ = ::memfd_create("errors", 0);
    std::fflush(nullptr);
    pid_ = ::fork();
    SISAL_CHECK(pid_ >= 0);
    if (pid_ == 0) {
      ::close(sockets[0]);
      if (!verbose && errors_ >= 0) ::dup2(errors_, STDERR_FILENO);
      Serve(sockets[1], plant, verbose);
    }
    ::close(sockets[1]);
    socket_ = sockets[0];
  }
  ~Child() {
    ::close(socket_);
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    ::close(errors_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // False: the child has ended meanwhile, or is to end.
  bool Play(const Order& order, Reply& reply) {
    reply = Reply{};
    if (::send(socket_, &order, sizeof(order), MSG_NOSIGNAL) == sizeof(order)) {
      pollfd answer{socket_, POLLIN, 0};
      if (::poll(&answer, 1, kSeedSecondsMax * 1000) == 0) {
        std::snprintf(reply.violation, sizeof(reply.violation), "no end after %d s", kSeedSecondsMax);
        return false;
      }
      if (::read(socket_, &reply, sizeof(reply)) == sizeof(reply)) return true;
    }
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    char line[600] = {};
    const ssize_t size = ::pread(errors_, line, sizeof(line) - 1, 0);
    line[size > 0 ? std::strcspn(line, "\n") : 0] = '\0';
    const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    std::snprintf(reply.violation, sizeof(reply.violation), "the process ended (signal %d): %s", signal, line);
    return false;
  }

 private:
  int socket_ = -1;
  int errors_ = -1;
  pid_t pid_ = -1;
};

}  // namespace

void PlaySeeds(Plant plant, bool verbose, const std::function<std::optional<Task>()>& next,
               const std::function<bool(const SeedResult&)>& done) {
  std::optional<Child> child;
  while (const std::optional<Task> task = next()) {
    if (!child) child.emplace(plant, verbose);
    const auto place = static_cast<uint32_t>(task->scenario - Scenarios().data());
    Reply reply;
    if (!child->Play({place, task->seed}, reply) || reply.violation[0] != '\0') child.reset();
    if (!done({task->scenario, task->seed, reply.trace_hash, reply.violation})) return;
  }
}

}  // namespace sisal::sim
