#include "ring.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "fiber.h"
#include "loop.h"
#include "sisal/base/check.h"

namespace sisal::io {
namespace {

constexpr unsigned kEntryCount = 256;
constexpr unsigned kCompletionCount = 4096;
constexpr unsigned kRegisterSendMessage = 31;  // IORING_REGISTER_SEND_MSG_RING, Linux 6.13; not in liburing 2.3

// Values of user_data that are no RingOperation.
constexpr uint64_t kMessageData = 0;
constexpr uint64_t kWakeReadData = 1;

int SetUp(io_uring& ring, unsigned entry_count, unsigned flags) {
  io_uring_params parameters{};
  parameters.flags = flags | IORING_SETUP_CQSIZE;
  parameters.cq_entries = std::max(2 * entry_count, std::min(kCompletionCount, 16 * entry_count));
  return io_uring_queue_init_params(entry_count, &ring, &parameters);
}

int SendMessage(int ring_fd) {
  io_uring_sqe entry{};
  entry.opcode = IORING_OP_MSG_RING;
  entry.fd = ring_fd;
  entry.off = kMessageData;
  entry.addr = IORING_MSG_DATA;
  const long result = ::syscall(__NR_io_uring_register, -1, kRegisterSendMessage, &entry, 1);
  return result < 0 ? -errno : 0;
}

}  // namespace

Result<std::unique_ptr<Ring>> Ring::Open(int wake_fd) {
  // From the best to what any kernel with io_uring takes. DEFER_TASKRUN lets completions wait for the loop's next pass
  // instead of interrupting a fiber.
  constexpr unsigned kFlagChoices[] = {
      IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
      IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG, 0};
  std::unique_ptr<Ring> ring(new Ring());
  int result = 0;
  for (unsigned flags : kFlagChoices) {
    result = SetUp(ring->ring_, kEntryCount, flags);
    if (result != -EINVAL) break;
  }
  if (result < 0) return Error{"58000", std::string("io_uring_setup: ") + std::strerror(-result)};
  ring->open_ = true;
  if ((ring->ring_.features & IORING_FEAT_EXT_ARG) == 0 || (ring->ring_.features & IORING_FEAT_NODROP) == 0) {
    return Error{"58000", "io_uring: this kernel's is too old (Linux 5.11 is needed)"};
  }
  static_cast<void>(io_uring_register_ring_fd(&ring->ring_));  // saves each call a look-up; older kernels refuse
  if (wake_fd >= 0) {
    ring->wake_fd_ = wake_fd;
    ring->ArmWakeRead();
  }
  return ring;
}

Ring::~Ring() {
  if (open_) io_uring_queue_exit(&ring_);
}

io_uring_sqe* Ring::Entry() {
  io_uring_sqe* entry = io_uring_get_sqe(&ring_);
  while (entry == nullptr) {
    Poll();
    entry = io_uring_get_sqe(&ring_);
  }
  return entry;
}

bool Ring::HasWork() const {
  return io_uring_sq_ready(&ring_) != 0 || io_uring_cq_ready(&ring_) != 0 ||
         (__atomic_load_n(ring_.sq.kflags, __ATOMIC_RELAXED) & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)) != 0;
}

void Ring::Poll() {
  const bool completions_wait =
      (__atomic_load_n(ring_.sq.kflags, __ATOMIC_RELAXED) & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)) != 0;
  int result = 0;
  if (io_uring_sq_ready(&ring_) != 0) {
    result = completions_wait ? io_uring_submit_and_get_events(&ring_) : io_uring_submit(&ring_);
  } else if (completions_wait) {
    result = io_uring_get_events(&ring_);
  }
  // Short of memory or of room for completions, the kernel takes the entries at a later pass.
  SISAL_CHECK(result >= 0 || result == -EINTR || result == -EAGAIN || result == -EBUSY || result == -ENOMEM);
  Reap();
}

void Ring::Wait(std::optional<Duration> timeout) {
  __kernel_timespec time{};
  if (timeout.has_value()) {
    time.tv_sec = timeout->count() / 1'000'000'000;
    time.tv_nsec = timeout->count() % 1'000'000'000;
  }
  io_uring_cqe* completion = nullptr;
  const int result =
      io_uring_submit_and_wait_timeout(&ring_, &completion, 1, timeout.has_value() ? &time : nullptr, nullptr);
  SISAL_CHECK(result >= 0 || result == -ETIME || result == -EINTR || result == -EAGAIN || result == -EBUSY ||
              result == -ENOMEM);
  Reap();
}

void Ring::Reap() {
  unsigned head;
  unsigned count = 0;
  io_uring_cqe* completion;
  io_uring_for_each_cqe(&ring_, head, completion) {
    ++count;
    Complete(*completion);
  }
  io_uring_cq_advance(&ring_, count);
}

void Ring::Complete(const io_uring_cqe& completion) {
  if (completion.user_data == kMessageData) return;
  if (completion.user_data == kWakeReadData) {
    ArmWakeRead();
    return;
  }
  auto* operation = reinterpret_cast<RingOperation*>(static_cast<uintptr_t>(completion.user_data));
  operation->result = completion.res;
  operation->fiber->loop->MakeReady(*operation->fiber);
}

void Ring::ArmWakeRead() {
  io_uring_sqe* const entry = Entry();
  io_uring_prep_read(entry, wake_fd_, &wake_count_, sizeof(wake_count_), 0);
  entry->user_data = kWakeReadData;
}

void Ring::Message(int ring_fd) {
  // Short of memory: without the message the loop might sleep for ever. All other errors mean that the ring is gone.
  int result;
  do {
    result = SendMessage(ring_fd);
  } while (result == -ENOMEM || result == -EAGAIN || result == -EINTR || result == -EOVERFLOW);
}

RingMessage Ring::MessageKind() {
  static const RingMessage kind = [] {
    io_uring ring{};
    if (SetUp(ring, 4, 0) < 0) return RingMessage::kEventFd;
    const bool works = SendMessage(ring.ring_fd) == 0 && io_uring_cq_ready(&ring) == 1;
    io_uring_queue_exit(&ring);
    return works ? RingMessage::kDirect : RingMessage::kEventFd;
  }();
  return kind;
}

void Ring::HoldFile(unsigned slot, int fd) {
  if (!files_registered_) {
    const std::vector<int> none(kHeldFileCount, -1);
    if (io_uring_register_files(&ring_, none.data(), kHeldFileCount) < 0) return;
    files_registered_ = true;
  }
  static_cast<void>(io_uring_register_files_update(&ring_, slot, &fd, 1));
}

}  // namespace sisal::io
