// Crashes at any operation of the disk, and starts that crash too: what was acknowledged is there, what was refused is
// not, and each transaction is there whole or not at all.
#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "ledger.h"
#include "scenario.h"
#include "sisal/io/time.h"

namespace sisal::sim {
namespace {

constexpr char kDirectory[] = "/sim";

struct CrashOptions {
  LedgerOptions ledger;
  uint64_t rounds = 3;
  uint64_t operations_max = 200;  // a round's crash comes within so many operations of the disk
  uint64_t segment_bytes = 1 << 20;
  bool compound = false;  // the disk may fail too
  uint64_t transaction_bytes_max = 1 << 30;
};

txn::StoreOptions DrawStoreOptions(Run& run, const CrashOptions& options) {
  txn::StoreOptions store;
  store.log.segment_bytes = options.segment_bytes;
  store.transaction_bytes_max = options.transaction_bytes_max;
  store.log.durability = options.ledger.durability;
  store.log.write_method = static_cast<wal::WriteMethod>(run.random.Below(4));
  return store;
}

// Crashes the disk at its `operation`-th operation from now on, if it comes to that.
void ArmCrash(SimDisk& disk, uint64_t operation, CrashKind kind, bool& crashed) {
  const uint64_t at = disk.operation_count() + operation;
  disk.on_operation = [&disk, at, kind, &crashed](uint64_t number) {
    if (number < at || crashed) return;
    crashed = true;
    disk.Crash(kind);
  };
}

// In some lives the disk fails or has no space too: a crash on top of a fault.
void DrawFaults(Run& run, SimDisk& disk) {
  if (run.random.OneIn(8)) disk.faults.no_space_one_in = 6;
  if (run.random.OneIn(8)) disk.faults.error_at_operation = 1 + run.random.Below(120);
}

// Work on a store that has started. `may_fail`: whether there is an excuse. Suspends.
void RunClients(Run& run, io::Runtime& runtime, txn::Store& store, Ledger& ledger,
                const std::function<bool()>& may_fail) {
  const Status set_up = ledger.SetUp(store);
  if (!set_up.ok()) {
    if (!may_fail()) run.Fail("the accounts cannot be made: " + set_up.ToString());
    return;
  }
  Crew crew(runtime);
  for (uint64_t client = 0; client < ledger.options().client_count; ++client) {
    crew.Add("client", [&] { ledger.RunClient(store); });
  }
  crew.WaitForAll();
}

// One life of the store: start, check, work, and an end of some kind. Suspends.
void PlayLife(Run& run, io::Runtime& runtime, SimDisk& disk, Ledger& ledger, const CrashOptions& options, bool last) {
  const CrashKind kind = run.random.OneIn(3) ? CrashKind::kKill : CrashKind::kPowerCut;
  bool crashed = false;
  // A start takes about 40 operations: some crashes come during it.
  if (!last && !run.random.OneIn(4)) ArmCrash(disk, 1 + run.random.Below(options.operations_max), kind, crashed);
  if (!last && options.compound) DrawFaults(run, disk);
  const uint64_t faults_before = disk.write_faults + disk.space_faults;
  const auto may_fail = [&] { return crashed || disk.write_faults + disk.space_faults > faults_before; };
  auto opened = txn::Store::Open(runtime, kDirectory, DrawStoreOptions(run, options), nullptr);
  if (!opened.ok() && !may_fail()) run.Fail("the store does not start: " + opened.status().ToString());
  if (opened.ok()) {
    txn::Store& store = **opened;
    ledger.CheckRecovered(store);
    if (!run.failed() && !last) RunClients(run, runtime, store, ledger, may_fail);
    const bool close = !crashed && (last || run.random.OneIn(3));
    if (!close && !crashed) disk.Crash(kind), crashed = true;
    if (close) {
      const Status closed = store.Close();
      if (!closed.ok() && !may_fail()) run.Fail("the store does not close: " + closed.ToString());
    } else {
      store.Abandon();
    }
    opened.value().reset();
  }
  disk.on_operation = nullptr;
  disk.faults.no_space_one_in = 0;
  disk.faults.error_at_operation = 0;
  // A store that was closed in order has nothing to lose.
  if (!crashed) disk.Crash(run.random.OneIn(2) ? CrashKind::kPowerCut : CrashKind::kKill);
}

void PlayCrashes(Run& run, const CrashOptions& options, const DiskFaults& faults) {
  SimDisk disk(run.random.Next());
  disk.faults = faults;
  disk.grants_direct = !run.random.OneIn(8);
  Ledger ledger(run, options.ledger);
  Simulate(run, DrawOptions(run, disk), [&](io::Runtime& runtime) {
    for (uint64_t round = 0; round <= options.rounds && !run.failed(); ++round) {
      PlayLife(run, runtime, disk, ledger, options, round == options.rounds);
    }
  });
}

}  // namespace

void PlayCrashRecovery(Run& run) {
  CrashOptions options;
  options.rounds = 2 + run.random.Below(4);
  options.ledger.accounts = 2 + run.random.Below(10);
  options.ledger.client_count = 1 + run.random.Below(6);
  options.ledger.rows_max = 1 + run.random.Below(4);
  options.compound = run.random.OneIn(2);
  PlayCrashes(run, options, DiskFaults{});
}

void PlayTornTail(Run& run) {
  CrashOptions options;
  options.rounds = 3;
  options.operations_max = 120;
  options.ledger.accounts = 32;
  options.ledger.client_count = 8;
  options.ledger.transfers_per_client = 8;
  options.ledger.padding_bytes_max = 6000;
  options.ledger.durability = run.random.OneIn(2) ? wal::Durability::kNormal : wal::Durability::kFull;
  DiskFaults faults;
  faults.garble_one_in = 2;
  faults.slow_one_in = 8;
  PlayCrashes(run, options, faults);
}

void PlayBigTransactions(Run& run) {
  CrashOptions options;
  options.rounds = 2;
  options.operations_max = 160;
  options.ledger.accounts = 8;
  options.ledger.client_count = 3;
  options.ledger.transfers_per_client = 2;
  options.ledger.padding_bytes_min = 20'000;
  options.ledger.padding_bytes_max = 80'000;
  options.ledger.rows_max = 20;
  // Memory for a part of them only: the others get 54000, and leave nothing.
  if (run.random.OneIn(4)) options.transaction_bytes_max = 300'000;
  PlayCrashes(run, options, DiskFaults{});
}

namespace {

enum class Damage : uint8_t { kFlippedBits, kMisdirectedWrite, kLostSyncs, kStaleReads, kFailingReads, kCount };

// A first life of the store, on a disk that loses syncs or misdirects a write, up to a power cut. False: it never
// started. Suspends.
bool PlayDamagedLife(Run& run, io::Runtime& runtime, SimDisk& disk, Ledger& ledger, Damage damage) {
  bool crashed = false;
  if (damage == Damage::kLostSyncs) disk.faults.lost_sync_one_in = 2 + run.random.Below(8);
  if (damage == Damage::kMisdirectedWrite) {
    disk.faults.misdirect_one_in = 1;
    ArmCrash(disk, 60 + run.random.Below(100), CrashKind::kPowerCut, crashed);
  }
  auto opened = txn::Store::Open(runtime, kDirectory, DrawStoreOptions(run, {}), nullptr);
  if (!opened.ok()) {
    if (!crashed) run.Fail("the store does not start: " + opened.status().ToString());
    disk.on_operation = nullptr;
    return false;
  }
  if (ledger.SetUp(**opened).ok()) {
    Crew crew(runtime);
    for (uint64_t client = 0; client < ledger.options().client_count; ++client) {
      crew.Add("client", [&] { ledger.RunClient(**opened); });
    }
    crew.WaitForAll();
  }
  (*opened)->Abandon();
  opened.value().reset();
  disk.on_operation = nullptr;
  if (!crashed) disk.Crash(damage == Damage::kStaleReads ? CrashKind::kKill : CrashKind::kPowerCut);
  return true;
}

}  // namespace

// The disk breaks its own promises: the store refuses to start, or has lost nothing but the tail; it never shows what
// nobody wrote.
void PlayDamage(Run& run) {
  SimDisk disk(run.random.Next());
  LedgerOptions options;
  options.client_count = 3;
  Ledger ledger(run, options);
  const auto damage = static_cast<Damage>(run.random.Below(static_cast<uint64_t>(Damage::kCount)));
  Simulate(run, DrawOptions(run, disk), [&](io::Runtime& runtime) {
    if (!PlayDamagedLife(run, runtime, disk, ledger, damage)) return;
    disk.faults = DiskFaults{};
    if (damage == Damage::kFlippedBits) {
      for (uint64_t i = 0; i <= run.random.Below(3); ++i) static_cast<void>(disk.FlipBit());
    }
    if (damage == Damage::kStaleReads) disk.faults.stale_read_one_in = 3;
    if (damage == Damage::kFailingReads) disk.faults.read_error_one_in = 4;
    auto opened = txn::Store::Open(runtime, kDirectory, DrawStoreOptions(run, {}), nullptr);
    if (!opened.ok() && damage == Damage::kFailingReads) {
      // Nothing is wrong with the files.
      if (opened.sqlstate() != "58030") run.Fail("a failing read is reported as " + opened.status().ToString());
      disk.Crash(run.random.OneIn(2) ? CrashKind::kPowerCut : CrashKind::kKill);
      disk.faults = DiskFaults{};
      opened = txn::Store::Open(runtime, kDirectory, DrawStoreOptions(run, {}), nullptr);
      if (!opened.ok()) return run.Fail("no start after a failing read: " + opened.status().ToString());
    }
    if (!opened.ok()) {
      if (opened.sqlstate() != "XX001") run.Fail("damage is reported as " + opened.status().ToString());
      return;
    }
    disk.faults = DiskFaults{};
    if (damage == Damage::kFailingReads) {
      ledger.CheckRecovered(**opened);
    } else {
      ledger.CheckDamaged(**opened);
    }
    (*opened)->Abandon();
  });
}

}  // namespace sisal::sim
