// One loop's io_uring. Confined to the loop's thread, but for Message and the file descriptor.
#pragma once

#include <liburing.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "sisal/base/clock.h"
#include "sisal/base/status.h"

namespace sisal::io {

namespace internal {
struct Fiber;
}

// One operation in flight; on the stack of the fiber that waits for it.
struct RingOperation {
  internal::Fiber* fiber;
  int32_t result = 0;  // as of the system call: bytes, or -errno
};

// What the kernel offers for waking a loop that sleeps in its ring.
enum class RingMessage {
  kDirect,   // IORING_REGISTER_SEND_MSG_RING: any thread, no ring of its own
  kEventFd,  // a read of an eventfd is kept in flight on each ring
};

class Ring {
 public:
  // On the thread that will use it. `wake_fd`: an eventfd to listen on, or -1. Error: 58000, with the kernel's reason.
  static Result<std::unique_ptr<Ring>> Open(int wake_fd);
  ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // An empty entry of the submission queue; submits when it is full. The caller fills it and sets its data to a
  // RingOperation.
  io_uring_sqe* Entry();
  // Hands new entries to the kernel and makes the fibers of finished operations ready. Never blocks.
  void Poll();
  // True if Poll would find something; a few loads.
  bool HasWork() const;
  // As Poll, but first waits for a completion or a message, at most for `timeout` if given.
  void Wait(std::optional<Duration> timeout);

  int fd() const { return ring_.ring_fd; }

  // Makes the ring's owner return from Wait. From any thread.
  static void Message(int ring_fd);
  // Tries it out on a ring of its own, once.
  static RingMessage MessageKind();

  // Keeps the file open until the last operation in flight is over, even if the process is killed before: see
  // LockRegistry. `slot` < kHeldFileCount; fd -1 lets go.
  static constexpr unsigned kHeldFileCount = 16;
  void HoldFile(unsigned slot, int fd);

 private:
  Ring() = default;
  void ArmWakeRead();
  void Reap();
  void Complete(const io_uring_cqe& completion);

  io_uring ring_{};
  bool open_ = false;
  bool files_registered_ = false;
  int wake_fd_ = -1;
  uint64_t wake_count_ = 0;  // target of the eventfd's read
};

}  // namespace sisal::io
