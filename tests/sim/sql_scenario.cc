// SQL over everything: transfers between accounts in explicit transactions, with an index, crashes and restarts. Each
// has a number of a sequence, which must not come twice.
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "scenario.h"
#include "sisal/db/database.h"
#include "sisal/io/time.h"
#include "sisal/type/datum.h"

namespace sisal::sim {
namespace {

constexpr char kDirectory[] = "/sim";
constexpr int kAccounts = 5, kOpeningBalance = 1000;

// Rows of a query, values separated by '|'.
Result<std::vector<std::string>> Query(db::Session& session, const std::string& sql) {
  SISAL_ASSIGN_OR_RETURN(const db::PreparedPtr prepared, session.Prepare(sql, {}));
  SISAL_ASSIGN_OR_RETURN(const std::unique_ptr<db::ResultSet> result, session.Execute(prepared, {}, {}));
  std::vector<std::string> rows;
  while (true) {
    type::Chunk chunk;
    SISAL_RETURN_IF_ERROR(result->Next(chunk));
    if (chunk.row_count == 0) return rows;
    for (uint32_t row = 0; row < chunk.row_count; ++row) {
      std::string text;
      for (size_t c = 0; c < chunk.columns.size(); ++c) {
        const type::Vector& column = chunk.columns[c];
        if (c > 0) text += '|';
        text += column.IsNull(row) ? "NULL" : type::FormatText(column.type, column.ToDatum(row), {});
      }
      rows.push_back(std::move(text));
    }
  }
}

class SqlLedger {
 public:
  explicit SqlLedger(Run& run) : run_(run) {}

  Status SetUp(db::Database& database) {
    const auto session = database.NewSession();
    for (const char* sql :
         {"create table if not exists accounts (id int primary key, balance bigint not null)",
          "create table if not exists transfers (id bigint primary key, source int, target int, amount bigint, "
          "number bigserial unique)",
          "create index if not exists transfers_source on transfers (source)",
          "insert into accounts select n, 1000 from generate_series(0, 4) n on conflict do nothing"}) {
      SISAL_RETURN_IF_ERROR(Query(*session, sql).status());
    }
    is_set_up_ = true;
    return Status();
  }

  void RunClient(db::Database& database, uint64_t count) {
    const auto session = database.NewSession();
    for (uint64_t i = 0; i < count; ++i) {
      const int64_t id = next_id_++;
      const int source = static_cast<int>(run_.random.Below(kAccounts));
      const int target = static_cast<int>((source + 1 + run_.random.Below(kAccounts - 1)) % kAccounts);
      const Status status = TryTransfer(*session, id, source, target, 1 + static_cast<int>(run_.random.Below(50)));
      if (session->phase() != db::TransactionPhase::kNone) session->Rollback();
      const std::string_view code = status.sqlstate();
      outcomes_[id] = status.ok() ? Outcome::kAcknowledged : code == "08007" ? Outcome::kUnknown : Outcome::kRefused;
      if (code == "08007" || code == "58030") return;
      if (!status.ok() && code != "40001" && code != "40P01") {
        return run_.Fail("a transfer ended with " + status.ToString());
      }
      if (run_.random.OneIn(4)) Audit(*session);
    }
  }

  // After a start, the contents become the truth.
  void CheckRecovered(db::Database& database) {
    if (!is_set_up_) return;
    const auto session = database.NewSession();
    const auto ids = Query(*session, "select id from transfers order by id");
    if (!ids.ok()) return run_.Fail("reading after a start failed: " + ids.status().ToString());
    std::map<int64_t, Outcome> present;
    for (const std::string& id : *ids) present[std::stoll(id)] = Outcome::kAcknowledged;
    for (const auto& [id, outcome] : outcomes_) {
      const bool is_there = present.contains(id);
      if (!is_there && outcome == Outcome::kAcknowledged) run_.Fail("transfer " + std::to_string(id) + " is lost");
      if (is_there && outcome == Outcome::kRefused) run_.Fail("transfer " + std::to_string(id) + " was refused");
      if (!is_there) present[id] = Outcome::kRefused;
    }
    outcomes_ = std::move(present);
    Audit(*session);
  }

 private:
  enum class Outcome : uint8_t { kAcknowledged, kUnknown, kRefused };

  Status TryTransfer(db::Session& session, int64_t id, int source, int target, int amount) {
    const std::string by = std::to_string(amount);
    SISAL_RETURN_IF_ERROR(Query(session, "begin").status());
    const auto move = [&](int account, const char* sign) {
      return Query(session, std::string("update accounts set balance = balance ") + sign + " " + by +
                                " where id = " + std::to_string(account))
          .status();
    };
    SISAL_RETURN_IF_ERROR(move(source, "-"));
    SISAL_RETURN_IF_ERROR(move(target, "+"));
    // A number that came before ends the transfer with 23505.
    SISAL_RETURN_IF_ERROR(Query(session, "insert into transfers (id, source, target, amount) values (" +
                                             std::to_string(id) + ", " + std::to_string(source) + ", " +
                                             std::to_string(target) + ", " + by + ")")
                              .status());
    return Query(session, "commit").status();
  }

  void Expect(db::Session& session, const std::string& sql) {
    const auto rows = Query(session, sql);
    if (!rows.ok()) return run_.Fail("an audit failed: " + rows.status().ToString());
    for (const std::string& row : *rows) run_.Fail("an audit found " + row + " by: " + sql);
  }

  // One statement each, so one snapshot each.
  void Audit(db::Session& session) {
    Expect(session,
           "select a.id, a.balance from accounts a where a.balance <> 1000 "
           "+ coalesce((select sum(t.amount) from transfers t where t.target = a.id), 0) "
           "- coalesce((select sum(t.amount) from transfers t where t.source = a.id), 0)");
    Expect(session,
           "select sum(balance) from accounts having sum(balance) <> " + std::to_string(kAccounts * kOpeningBalance));
  }

  Run& run_;
  bool is_set_up_ = false;
  int64_t next_id_ = 1;
  std::map<int64_t, Outcome> outcomes_;
};

}  // namespace

void PlaySql(Run& run) {
  SimDisk disk(run.random.Next());
  SqlLedger ledger(run);
  const uint64_t rounds = 2 + run.random.Below(2);
  Simulate(run, DrawOptions(run, disk), [&](io::Runtime& runtime) {
    for (uint64_t round = 0; round <= rounds && !run.failed(); ++round) {
      bool crashed = false;
      const CrashKind kind = run.random.OneIn(3) ? CrashKind::kKill : CrashKind::kPowerCut;
      const uint64_t at = disk.operation_count() + 40 + run.random.Below(150);
      if (round < rounds) {
        disk.on_operation = [&](uint64_t number) {
          if (number < at || crashed) return;
          crashed = true;
          disk.Crash(kind);
        };
      }
      db::DatabaseOptions options;
      options.store.log.segment_bytes = 1 << 20;
      options.store.log.write_method = static_cast<wal::WriteMethod>(run.random.Below(4));
      auto opened = db::Database::Open(runtime, kDirectory, options, nullptr);
      if (!opened.ok()) {
        if (!crashed) return run.Fail("the database does not start: " + opened.status().ToString());
        disk.on_operation = nullptr;
        continue;
      }
      ledger.CheckRecovered(**opened);
      const Status set_up = ledger.SetUp(**opened);
      if (!set_up.ok() && !crashed) run.Fail("the tables cannot be made: " + set_up.ToString());
      if (set_up.ok() && round < rounds) {
        Crew crew(runtime);
        for (int i = 0; i < 3; ++i) crew.Add("client", [&] { ledger.RunClient(**opened, 8); });
        crew.WaitForAll();
      }
      const Status closed = (*opened)->Close();
      if (!closed.ok() && !crashed) run.Fail("the database does not close: " + closed.ToString());
      opened.value().reset();
      disk.on_operation = nullptr;
      if (!crashed) disk.Crash(kind);
    }
  });
}

}  // namespace sisal::sim
