// Results of single-use reads that were too large for one answer (ExecuteResponse.more), until a Query takes them up.
//
// Each pins a snapshot, so there are few and they live shortly. Going on with the same cursor was chosen over running
// the statement again: the rows are the same whatever has been committed since, and no work is done twice.
// Thread-safe.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "row_source.h"
#include "sisal/base/clock.h"
#include "sisal/io/sync.h"
#include "sisal/service/handle.h"

namespace sisal::service {

// Destroyed from the bottom up: the rows before the session that they run in.
struct HeldResult {
  std::unique_ptr<db::Session> session;
  bool commit_at_end = false;  // an explicit transaction of the call's own
  std::unique_ptr<RowSource> source;
};

class HeldResults {
 public:
  HeldResults(const HandleCodec& codec, const Clock& clock) : codec_(codec), clock_(clock) {}
  // Returns the token. Beyond the limits the oldest goes.
  std::string Put(HeldResult result, std::string_view principal);
  // Errors: HandleCodec's; 55000 RESULT_EXPIRED.
  Result<HeldResult> Take(std::string_view token, std::string_view principal);
  void Sweep();
  void Clear();
  size_t count() const;

  static constexpr size_t kCountMax = 256;
  static constexpr Duration kLifetime = std::chrono::seconds(30);

 private:
  struct Slot {
    uint64_t number;
    Instant expires;
    HeldResult result;
  };
  const HandleCodec& codec_;
  const Clock& clock_;
  mutable io::SpinLatch latch_;  // guards what follows
  std::deque<Slot> slots_;       // oldest first
  uint64_t next_number_ = 1;
};

}  // namespace sisal::service
