#include "held_results.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <vector>

namespace sisal::service {

using Guard = std::lock_guard<io::SpinLatch>;

std::string HeldResults::Put(HeldResult result, std::string_view principal) {
  std::optional<Slot> evicted;  // destroyed outside the latch
  uint64_t number;
  {
    const Guard guard(latch_);
    number = next_number_++;
    if (slots_.size() >= kCountMax) {
      evicted.emplace(std::move(slots_.front()));
      slots_.pop_front();
    }
    slots_.push_back({number, clock_.Now() + kLifetime, std::move(result)});
  }
  return codec_.Encode(HandleKind::kHeldResult, number, principal);
}

Result<HeldResult> HeldResults::Take(std::string_view token, std::string_view principal) {
  SISAL_ASSIGN_OR_RETURN(const uint64_t number, codec_.Decode(HandleKind::kHeldResult, token, principal));
  {
    const Guard guard(latch_);
    const auto found =
        std::find_if(slots_.begin(), slots_.end(), [&](const Slot& slot) { return slot.number == number; });
    if (found != slots_.end()) {
      HeldResult result = std::move(found->result);
      slots_.erase(found);
      return result;
    }
  }
  return Error{"55000", "the rest of this result is no longer held"}
      .WithHint("Run the statement again, with Query if its result is large.")
      .WithReason("RESULT_EXPIRED");
}

void HeldResults::Sweep() {
  std::vector<Slot> gone;
  const Instant now = clock_.Now();
  const Guard guard(latch_);
  while (!slots_.empty() && now >= slots_.front().expires) {
    gone.push_back(std::move(slots_.front()));
    slots_.pop_front();
  }
}

void HeldResults::Clear() {
  std::deque<Slot> gone;
  const Guard guard(latch_);
  gone.swap(slots_);
}

size_t HeldResults::count() const {
  const Guard guard(latch_);
  return slots_.size();
}

}  // namespace sisal::service
