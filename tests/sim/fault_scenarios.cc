// Disks that fail or fill up: writes stop or wait with an honest error, reads go on, nothing is half done, and a
// restart has all that was acknowledged.
#include <string>
#include <utility>

#include "ledger.h"
#include "scenario.h"
#include "sisal/io/time.h"

namespace sisal::sim {
namespace {

constexpr char kDirectory[] = "/sim";
constexpr TreeId kProbe{102};

txn::StoreOptions DrawStoreOptions(Run& run) {
  txn::StoreOptions options;
  options.log.segment_bytes = 1 << 20;
  options.log.write_method = static_cast<wal::WriteMethod>(run.random.Below(4));
  return options;
}

// One small write. Suspends.
Status TryWrite(txn::Store& store) {
  const auto transaction = store.Begin({});
  SISAL_RETURN_IF_ERROR(transaction->TakeSnapshot());
  SISAL_RETURN_IF_ERROR(
      transaction->Lock(kProbe, "probe", txn::LockMode::kExclusive, txn::LockWait::kWait, txn::Conflict::kCheck));
  SISAL_RETURN_IF_ERROR(transaction->Put(kProbe, "probe", "value"));
  return transaction->Commit({}).status();
}

void RunClients(io::Runtime& runtime, Ledger& ledger, txn::Store& store) {
  Crew crew(runtime);
  for (uint64_t client = 0; client < ledger.options().client_count; ++client) {
    crew.Add("client", [&] { ledger.RunClient(store); });
  }
  crew.WaitForAll();
}

void CheckRestart(Run& run, io::Runtime& runtime, SimDisk& disk, Ledger& ledger) {
  disk.Crash(run.random.OneIn(4) ? CrashKind::kKill : CrashKind::kPowerCut);
  auto opened = txn::Store::Open(runtime, kDirectory, DrawStoreOptions(run), nullptr);
  if (!opened.ok()) return run.Fail("the store does not start again: " + opened.status().ToString());
  ledger.CheckRecovered(**opened);
  const Status written = TryWrite(**opened);
  if (!written.ok()) run.Fail("no write after a restart: " + written.ToString());
  const Status closed = (*opened)->Close();
  if (!closed.ok()) run.Fail("the store does not close: " + closed.ToString());
}

}  // namespace

void PlayLogFault(Run& run) {
  SimDisk disk(run.random.Next());
  LedgerOptions options;
  options.client_count = 1 + run.random.Below(6);
  options.faults_until_stop = 3;
  // Small records share a block, and the next flush writes it anew: a lost sync may heal. Large ones do not.
  if (run.random.OneIn(2)) options.padding_bytes_max = 5000;
  const bool fails_sync = run.random.OneIn(2);
  txn::StoreOptions store_options = DrawStoreOptions(run);
  if (fails_sync && store_options.log.write_method == wal::WriteMethod::kDirectDataSync) {
    store_options.log.write_method = wal::WriteMethod::kDirectSync;
  }
  Ledger ledger(run, options);
  Simulate(run, DrawOptions(run, disk), [&](io::Runtime& runtime) {
    auto opened = txn::Store::Open(runtime, kDirectory, store_options, nullptr);
    if (!opened.ok()) return run.Fail("the store does not start: " + opened.status().ToString());
    txn::Store& store = **opened;
    const Status set_up = ledger.SetUp(store);
    if (!set_up.ok()) run.Fail("the accounts cannot be made: " + set_up.ToString());
    (fails_sync ? disk.faults.error_at_sync : disk.faults.error_at_operation) =
        1 + run.random.Below(fails_sync ? 12 : 30);
    RunClients(runtime, ledger, store);
    disk.faults.error_at_operation = disk.faults.error_at_sync = 0;
    if (ledger.counts.unknown > 0 && !store.read_only()) run.Fail("08007, but the log takes more records");
    if (store.read_only()) {
      const Status refused = TryWrite(store);
      if (refused.sqlstate() != "58030") run.Fail("a write to a failed log ended with " + refused.ToString());
    } else if (disk.write_faults == 0) {
      const Status written = TryWrite(store);
      if (!written.ok()) run.Fail("a write to a sound log ended with " + written.ToString());
    }
    ledger.Audit(store);
    const Status closed = store.Close();
    if (store.read_only() && closed.sqlstate() != "58030") run.Fail("a failed log was closed: " + closed.ToString());
    opened.value().reset();
    CheckRestart(run, runtime, disk, ledger);
  });
}

void PlayFullDisk(Run& run) {
  SimDisk disk(run.random.Next());
  LedgerOptions options;
  options.client_count = 1 + run.random.Below(5);
  options.transfers_per_client = 20;
  options.padding_bytes_max = 40'000;
  options.rows_max = 4;
  Ledger ledger(run, options);
  txn::StoreOptions store_options = DrawStoreOptions(run);
  const bool is_capped = run.random.OneIn(4);
  if (is_capped) {
    store_options.log.max_bytes = 4 << 20;
  } else {
    disk.capacity_bytes = (3 << 20) + run.random.Below(3 << 20);
    if (run.random.OneIn(2)) disk.faults.no_space_one_in = 4;
  }
  Simulate(run, DrawOptions(run, disk), [&](io::Runtime& runtime) {
    auto opened = txn::Store::Open(runtime, kDirectory, store_options, nullptr);
    if (!opened.ok()) {
      if (opened.sqlstate() != "53100") run.Fail("the store does not start: " + opened.status().ToString());
      return;
    }
    txn::Store& store = **opened;
    Status set_up = ledger.SetUp(store);
    for (int i = 0; i < 20 && set_up.sqlstate() == "53100"; ++i) set_up = ledger.SetUp(store);
    if (!set_up.ok()) {
      if (set_up.sqlstate() != "53100") run.Fail("the accounts cannot be made: " + set_up.ToString());
    } else {
      RunClients(runtime, ledger, store);
      ledger.Audit(store);
    }
    if (store.read_only()) run.Fail("a full disk has stopped the log for good");
    if (ledger.counts.unknown + ledger.counts.failed > 0) run.Fail("a full disk was answered with 08007 or 58030");
    disk.faults.no_space_one_in = 0;
    disk.capacity_bytes = UINT64_MAX;
    if (!is_capped && !run.failed()) {
      const Status written = TryWrite(store);
      if (!written.ok()) run.Fail("no write when there is space again: " + written.ToString());
    }
    const Status closed = store.Close();
    if (!closed.ok()) run.Fail("the store does not close: " + closed.ToString());
    opened.value().reset();
    CheckRestart(run, runtime, disk, ledger);
  });
}

}  // namespace sisal::sim
