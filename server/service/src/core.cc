#include "sisal/service/core.h"

#include <mutex>

#include "held_results.h"
#include "sisal/io/time.h"

namespace sisal::service {
namespace {
constexpr Duration kSweepInterval = std::chrono::milliseconds(200);
}

void RunningKeys::Add(const std::string& key) {
  const std::lock_guard<io::SpinLatch> guard(latch_);
  ++counts_[key];
}

void RunningKeys::Remove(const std::string& key) {
  const std::lock_guard<io::SpinLatch> guard(latch_);
  const auto found = counts_.find(key);
  if (--found->second == 0) counts_.erase(found);
}

bool RunningKeys::Contains(const std::string& key) const {
  const std::lock_guard<io::SpinLatch> guard(latch_);
  return counts_.contains(key);
}

Core::Core(io::Runtime& io_runtime, db::Database& db, const Identity& id, const ServiceOptions& service_options)
    : runtime(io_runtime),
      database(db),
      identity(id),
      options(service_options),
      clock(io_runtime.clock()),
      codec(identity),
      transactions(options.leases, codec, clock),
      held(std::make_unique<HeldResults>(codec, clock)) {}

Core::~Core() = default;

void Core::StartSweeping() {
  sweeping_ = true;
  runtime.Spawn({.name = "lease sweep"}, [this] {
    while (io::SleepUntil({clock.Now() + kSweepInterval, &stop_}) == io::WaitResult::kTimedOut) {
      transactions.Sweep();
      held->Sweep();
    }
    stopped_.Set();
  });
}

void Core::DropHeldResults() { held->Clear(); }

void Core::StopSweeping() {
  if (!sweeping_) return;
  stop_.Cancel(Error{"57P01", "the server stops"});
  stopped_.Wait();
  sweeping_ = false;
}

}  // namespace sisal::service
