// The wake protocol in every interleaving: a wake may be lost nowhere, and one waker of several wins.
#include "sisal/io/wake_word.h"

#include <memory>
#include <vector>

#include "sisal/testing/model_concurrency.h"

namespace sisal::io {
namespace {

using model::Explorer;

// The waiter waits `wait_count` times, and each of `reasons` wakes it once.
template <template <typename> typename Atomic>
void Wait(Explorer& explorer, const std::vector<WaitResult>& reasons, size_t wait_count) {
  struct State {
    BasicWakeWord<Atomic> word;
    model::Atomic<uint64_t> scheduled{0};
    size_t park_count = 0;
    WaitResult seen{};
    std::vector<WakeOutcome> outcomes;
  };
  auto state = std::make_shared<State>();
  state->outcomes.resize(reasons.size());
  explorer.Actor([state, wait_count] {
    for (size_t i = 0; i < wait_count; ++i) {
      if (state->word.BeginPark() && state->word.CommitPark()) {
        ++state->park_count;
        state->scheduled.AwaitAndExchange(0);
      }
      state->seen = state->word.Finish();
    }
  });
  for (size_t i = 0; i < reasons.size(); ++i) {
    explorer.Actor([state, reason = reasons[i], &outcome = state->outcomes[i]] {
      outcome = state->word.Wake(reason);
      if (outcome == WakeOutcome::kMustSchedule) state->scheduled.store(1);
    });
  }
  explorer.Finally([state, &explorer, reasons] {
    size_t winner_count = 0;
    size_t scheduler_count = 0;
    for (size_t i = 0; i < reasons.size(); ++i) {
      // A waker that comes after Finish finds the next wait's word, so it may win that one too.
      winner_count += state->outcomes[i] != WakeOutcome::kLost;
      if (state->outcomes[i] != WakeOutcome::kMustSchedule) continue;
      ++scheduler_count;
      if (state->park_count == 1) explorer.Expect(state->seen == reasons[i], "the winner's reason is what is seen");
    }
    explorer.Expect(winner_count >= 1, "a waker wins");
    explorer.Expect(scheduler_count == state->park_count, "each park has one waker who must schedule");
  });
}

const model::Options kOptions;

TEST(WakeWordExplorationTest, OneWakerIsNeverLost) {
  model::ExpectSound("one waker", kOptions,
                     [](Explorer& explorer) { Wait<model::Atomic>(explorer, {WaitResult::kWoken}, 1); });
}

TEST(WakeWordExplorationTest, OneOfSeveralWakersWins) {
  model::ExpectSound("two wakers", kOptions, [](Explorer& explorer) {
    Wait<model::Atomic>(explorer, {WaitResult::kWoken, WaitResult::kTimedOut}, 1);
  });
  model::ExpectSound("three wakers", kOptions, [](Explorer& explorer) {
    Wait<model::Atomic>(explorer, {WaitResult::kWoken, WaitResult::kTimedOut, WaitResult::kCancelled}, 1);
  });
}

TEST(WakeWordExplorationTest, CompareAndSetByAStoreIsCaught) {
  model::ExpectCaught("planted: CAS is a store", kOptions,
                      [](Explorer& explorer) { Wait<model::CasIsStoreAtomic>(explorer, {WaitResult::kWoken}, 1); });
}

// The waiter gives up its thread although a wake has come.
template <typename T>
class ParksAnyway : public model::Atomic<T> {
 public:
  using model::Atomic<T>::Atomic;
  bool compare_exchange_strong(T&, T desired, std::memory_order, std::memory_order) {
    this->exchange(desired);
    return true;
  }
};

TEST(WakeWordExplorationTest, ADroppedWakeIsCaught) {
  model::ExpectCaught("planted: a wake before the park is dropped", kOptions,
                      [](Explorer& explorer) { Wait<ParksAnyway>(explorer, {WaitResult::kWoken}, 1); });
}

}  // namespace
}  // namespace sisal::io
