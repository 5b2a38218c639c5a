#include "sisal/db/database.h"

#include <algorithm>

#include "point_read.h"
#include "session.h"
#include "sisal/base/bytes.h"
#include "sisal/base/log.h"
#include "sisal/io/time.h"

namespace sisal::db {

namespace {

class EngineDatabase final : public Database {
 public:
  EngineDatabase(io::Runtime& runtime, const DatabaseOptions& options)
      : engine_{runtime, options, {}, {}, {}}, defaults_(options.default_isolation) {
    engine_.plans = std::make_unique<PlanCache>(options.plan_cache_entries_max);
  }

  Status Open(const std::string& directory, wal::ReplayProgress* progress) {
    SISAL_RETURN_IF_ERROR(engine_.runtime.file_system().CreateDirectory(directory));
    constexpr Duration kLockPatience = std::chrono::seconds(5);
    SISAL_ASSIGN_OR_RETURN(lock_, engine_.runtime.file_system().LockDirectory(directory, kLockPatience));
    SISAL_ASSIGN_OR_RETURN(engine_.store,
                           txn::Store::Open(engine_.runtime, directory, engine_.options.store, progress));
    SISAL_ASSIGN_OR_RETURN(engine_.catalog, catalog::Catalog::Open(*engine_.store));
    engine_.runtime.Spawn({"idempotency sweep", io::Priority::kBackground}, [this] { SweepOutcomes(); });
    return Status();
  }

  Status Close() override {
    stop_.Cancel(Error("57P01", "terminating because the database is closing"));
    sweep_ended_.Wait();
    const Status saved = engine_.catalog->SaveSequences();
    if (!saved.ok()) Log(LogLevel::kWarning, "sequences skip values: " + saved.ToString());
    SISAL_RETURN_IF_ERROR(engine_.store->Close());
    engine_.catalog.reset();
    lock_.reset();
    return Status();
  }

  std::unique_ptr<Session> NewSession() override { return std::make_unique<EngineSession>(engine_); }
  PreparedPtr FindPointRead(const StatementId& id) override {
    // A read that stands for itself takes part in the checks of serializable transactions as well.
    if (defaults_.default_isolation() == txn::Isolation::kSerializable) return nullptr;
    CachedPlanPtr plan = engine_.plans->Find({id, defaults_.PlanHash()});
    return plan != nullptr && plan->point_read() != nullptr ? plan : nullptr;
  }
  Result<bool> ReadPoint(const Prepared& prepared, std::span<const type::Datum> params, PointRow& row) override {
    return db::ReadPoint(engine_, static_cast<const CachedPlan&>(prepared), params, row);
  }
  const type::TextSettings& default_text_settings() const override { return defaults_.text(); }
  type::TextSettings default_input_settings() const override {
    type::TextSettings settings = defaults_.text();
    settings.now_micros = engine_.runtime.clock().WallMicros();
    return settings;
  }
  txn::Store& store() override { return *engine_.store; }
  bool clean_start() const override { return engine_.store->clean_start(); }

 private:
  // Outcomes of idempotent calls are kept for a window and within a size; this fiber removes the rest.
  void SweepOutcomes() {
    constexpr Duration kPeriod = std::chrono::seconds(30);
    while (io::SleepUntil({io::Now() + kPeriod, &stop_}) == io::WaitResult::kTimedOut) {
      const Status status = SweepOnce();
      if (!status.ok()) Log(LogLevel::kWarning, "idempotency sweep: " + status.ToString());
    }
    sweep_ended_.Set();
  }

  // Oldest first where the size is passed: an entry begins with its expiry.
  Status SweepOnce() {
    struct Outcome {
      int64_t expiry;
      uint64_t size_bytes;
      std::string key;
    };
    const auto reader = engine_.store->Begin({txn::Isolation::kSnapshot, true});
    SISAL_RETURN_IF_ERROR(reader->TakeSnapshot());
    const auto cursor = reader->Scan(catalog::kIdempotencyTree, {}, txn::Direction::kForward);
    std::vector<Outcome> outcomes;
    uint64_t total_bytes = 0;
    txn::EntryBatch batch;
    for (;;) {
      SISAL_RETURN_IF_ERROR(cursor->Next(256, batch));
      if (batch.keys.empty()) break;
      for (size_t i = 0; i < batch.keys.size(); ++i) {
        int64_t expiry = 0;
        ByteReader value(batch.values[i]);
        if (!value.ReadLittle(expiry)) expiry = 0;
        outcomes.push_back({expiry, batch.keys[i].size() + batch.values[i].size(), std::string(batch.keys[i])});
        total_bytes += outcomes.back().size_bytes;
      }
    }
    reader->Rollback();
    std::sort(outcomes.begin(), outcomes.end(), [](const auto& a, const auto& b) { return a.expiry < b.expiry; });
    const int64_t now = engine_.runtime.clock().WallMicros();
    size_t doomed = 0;
    while (doomed < outcomes.size() &&
           (outcomes[doomed].expiry <= now || total_bytes > engine_.options.idempotency_bytes_max)) {
      total_bytes -= outcomes[doomed++].size_bytes;
    }
    constexpr size_t kPerTransaction = 1000;
    for (size_t first = 0; first < doomed; first += kPerTransaction) {
      const auto writer = engine_.store->Begin({});
      writer->SetInterrupt({Instant::Max(), &stop_}, Duration::max());
      for (size_t i = first; i < std::min(doomed, first + kPerTransaction); ++i) {
        SISAL_RETURN_IF_ERROR(writer->Lock(catalog::kIdempotencyTree, outcomes[i].key, txn::LockMode::kExclusive,
                                           txn::LockWait::kWait, txn::Conflict::kIgnore));
        // A call may have stored a newer outcome under this key since we looked.
        Arena arena(256);
        SISAL_ASSIGN_OR_RETURN(const auto now_there,
                               writer->GetNewest(catalog::kIdempotencyTree, outcomes[i].key, arena));
        int64_t expiry = 0;
        if (!now_there.has_value() || (ByteReader(*now_there).ReadLittle(expiry) && expiry != outcomes[i].expiry)) {
          continue;
        }
        SISAL_RETURN_IF_ERROR(writer->Delete(catalog::kIdempotencyTree, outcomes[i].key));
      }
      SISAL_RETURN_IF_ERROR(writer->Commit({}).status());
    }
    return Status();
  }

  Engine engine_;
  const Settings defaults_;  // of every new session
  std::unique_ptr<io::DirectoryLock> lock_;
  io::CancelToken stop_;
  io::Event sweep_ended_;
};

}  // namespace

Result<std::unique_ptr<Database>> Database::Open(io::Runtime& runtime, const std::string& directory,
                                                 const DatabaseOptions& options, wal::ReplayProgress* progress) {
  auto database = std::make_unique<EngineDatabase>(runtime, options);
  SISAL_RETURN_IF_ERROR(database->Open(directory, progress));
  return std::unique_ptr<Database>(std::move(database));
}

}  // namespace sisal::db
