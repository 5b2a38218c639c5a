// Parents that go while children come: no committed state has an orphan.
#include <memory>
#include <string>

#include "scenario.h"
#include "sisal/db/database.h"
#include "sisal/io/time.h"

namespace sisal::sim {
namespace {

constexpr char kDirectory[] = "/sim";

// The number of rows that a statement gives.
Result<uint64_t> CountRows(db::Session& session, const std::string& sql) {
  SISAL_ASSIGN_OR_RETURN(const db::PreparedPtr prepared, session.Prepare(sql, {}));
  SISAL_ASSIGN_OR_RETURN(const std::unique_ptr<db::ResultSet> result, session.Execute(prepared, {}, {}));
  uint64_t count = 0;
  while (true) {
    type::Chunk chunk;
    SISAL_RETURN_IF_ERROR(result->Next(chunk));
    if (chunk.row_count == 0) return count;
    count += chunk.row_count;
  }
}

class Family {
 public:
  Family(Run& run, db::Database& database) : run_(run), database_(database) {}

  void SetUp() {
    const auto session = database_.NewSession();
    const char* actions[] = {"", " on delete cascade on update cascade", " on delete set null"};
    std::string child = "create table child (id int primary key, parent int references parent";
    child += actions[run_.random.Below(3)];
    Try(*session, "create table parent (id int primary key, n int)");
    Try(*session, child + ", n int)");
    if (run_.random.OneIn(2)) Try(*session, "create index on child (parent, n)");
    Try(*session, "insert into parent select n, 0 from generate_series(1, 4) n");
  }

  // One client's transactions; some read first, so that their snapshot is older than what they write.
  void RunClient() {
    const auto session = database_.NewSession();
    for (int i = 0; i < 12 && !run_.failed(); ++i) {
      const bool block = run_.random.OneIn(2);
      if (block) Try(*session, "begin");
      if (block && run_.random.OneIn(2)) Try(*session, "select * from child");
      const uint64_t statements = block ? 1 + run_.random.Below(2) : 1;
      for (uint64_t n = 0; n < statements; ++n) Try(*session, Write());
      if (session->phase() != db::TransactionPhase::kNone) Try(*session, "commit");
      Audit(*session);
    }
  }

  void Audit(db::Session& session) {
    const auto orphans =
        CountRows(session, "select 1 from child where parent is not null and parent not in (select id from parent)");
    if (!orphans.ok()) return run_.Fail("an audit failed: " + orphans.status().ToString());
    if (*orphans > 0) run_.Fail(std::to_string(*orphans) + " rows have no parent");
  }

 private:
  std::string Number(uint64_t below) { return std::to_string(1 + run_.random.Below(below)); }
  std::string Write() {
    switch (run_.random.Below(7)) {
      case 0:
      case 1:
        return "delete from parent where id = " + Number(4);
      case 2:
        return "insert into parent values (" + Number(4) + ", 0) on conflict (id) do update set n = parent.n + 1";
      case 3:
        return "update child set id = " + Number(9) + ", n = 1 - n where id = " + Number(9);
      case 4:
        return "update child set parent = " + Number(4) + " where id = " + Number(9);
      default:
        return "insert into child values (" + Number(9) + ", " + Number(4) + ", 0) on conflict do nothing";
    }
  }
  void Try(db::Session& session, const std::string& sql) {
    const Status status = CountRows(session, sql).status();
    const std::string_view code = status.sqlstate();
    if (status.ok() || code == "40001" || code == "40P01" || code == "25P02" || code.substr(0, 2) == "23") return;
    run_.Fail(sql + " ended with " + status.ToString());
  }

  Run& run_;
  db::Database& database_;
};

}  // namespace

void PlayForeignKeys(Run& run) {
  SimDisk disk(run.random.Next());
  Simulate(run, DrawOptions(run, disk), [&](io::Runtime& runtime) {
    db::DatabaseOptions options;
    options.store.log.segment_bytes = 1 << 20;
    options.store.log.write_method = wal::WriteMethod::kBufferedSync;
    auto opened = db::Database::Open(runtime, kDirectory, options, nullptr);
    if (!opened.ok()) return run.Fail("the database does not start: " + opened.status().ToString());
    Family family(run, **opened);
    family.SetUp();
    Crew crew(runtime);
    for (int i = 0; i < 4; ++i) crew.Add("client", [&] { family.RunClient(); });
    crew.WaitForAll();
    family.Audit(*(*opened)->NewSession());
    const Status closed = (*opened)->Close();
    if (!closed.ok()) run.Fail("the database does not close: " + closed.ToString());
    opened.value().reset();
  });
}

}  // namespace sisal::sim
