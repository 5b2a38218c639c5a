// Foreign keys that stand in the way of DROP and TRUNCATE.
#include <algorithm>

#include "session.h"

namespace sisal::db {

namespace {

bool Contains(const std::vector<catalog::TablePtr>& tables, ObjectId id) {
  return std::any_of(tables.begin(), tables.end(), [&](const catalog::TablePtr& table) { return table->id == id; });
}

}  // namespace

// The foreign keys that go by a table's index, or by anything of it, but for those of tables that are dropped too.
std::vector<EngineSession::Dependent> EngineSession::DependentsOf(const sql::DropStatement& drop, size_t which) {
  std::vector<Dependent> dependents;
  const catalog::TablePtr table = Changes().root()->FindTable(drop.tables[which]->id);
  if (table == nullptr) return dependents;
  const bool is_index = !drop.index_names.empty();
  for (const catalog::Referrer& referrer : table->referrers) {
    const catalog::TablePtr child = Changes().root()->FindTable(referrer.table);
    if (child == nullptr) continue;
    Dependent dependent{child, referrer.foreign_key, "table " + table->name, false};
    if (is_index) {
      const std::string& name = drop.index_names[which];
      const auto number = table->FindUniqueKey(child->FindForeignKey(referrer.foreign_key)->referenced);
      if (!number.has_value() || *number == 0 || table->indexes[*number - 1].name != name) continue;
      dependent.on = "index " + name;
    } else {
      if (child->id == table->id) continue;
      dependent.goes_anyway = Contains(drop.tables, child->id);
    }
    dependents.push_back(std::move(dependent));
  }
  return dependents;
}

Status EngineSession::DropReferences(const sql::DropStatement& drop, std::vector<Notice>& notices) {
  std::vector<Dependent> dependents;
  std::string detail;
  std::vector<std::string> cascaded;
  for (size_t i = 0; i < drop.tables.size(); ++i) {
    for (Dependent& dependent : DependentsOf(drop, i)) {
      if (!dependent.goes_anyway) {
        const std::string name = "constraint " + dependent.foreign_key + " on table " + dependent.child->name;
        detail += (detail.empty() ? "" : "\n") + name + " depends on " + dependent.on;
        cascaded.push_back("drop cascades to " + name);
      }
      dependents.push_back(std::move(dependent));
    }
  }
  if (!cascaded.empty() && !drop.cascade) {
    const bool is_index = !drop.index_names.empty();
    const std::string one = is_index ? "index " + drop.index_names.front() : "table " + drop.tables.front()->name;
    return Error("2BP01", drop.tables.size() == 1
                              ? "cannot drop " + one + " because other objects depend on it"
                              : "cannot drop desired object(s) because other objects depend on them")
        .WithDetail(std::move(detail))
        .WithHint("Use DROP ... CASCADE to drop the dependent objects too.");
  }
  if (cascaded.size() == 1) notices.push_back({"00000", cascaded.front(), ""});
  if (cascaded.size() > 1) {
    notices.push_back({"00000", "drop cascades to " + std::to_string(cascaded.size()) + " other objects", ""});
  }
  for (const Dependent& dependent : dependents) {
    // Its definition changes with each of its keys that goes.
    const catalog::TablePtr child = Changes().root()->FindTable(dependent.child->id);
    if (child == nullptr || child->FindForeignKey(dependent.foreign_key) == nullptr) continue;
    SISAL_RETURN_IF_ERROR(
        engine_.catalog->DropForeignKey(*open_->txn, Changes(), child, dependent.foreign_key).status());
  }
  return Status();
}

Result<std::vector<catalog::TablePtr>> EngineSession::TruncatedTables(const sql::DropStatement& drop,
                                                                      std::vector<Notice>& notices) {
  std::vector<catalog::TablePtr> tables = drop.tables;
  for (size_t i = 0; i < tables.size(); ++i) {  // grows
    for (const catalog::Referrer& referrer : std::vector(tables[i]->referrers)) {
      if (Contains(tables, referrer.table)) continue;
      const catalog::TablePtr child = Root()->FindTable(referrer.table);
      if (child == nullptr) continue;
      if (!drop.cascade) {
        return Error("0A000", "cannot truncate a table referenced in a foreign key constraint")
            .WithDetail("Table \"" + child->name + "\" references \"" + tables[i]->name + "\".")
            .WithHint("Truncate table \"" + child->name + "\" at the same time, or use TRUNCATE ... CASCADE.");
      }
      notices.push_back({"00000", "truncate cascades to table \"" + child->name + "\"", ""});
      tables.push_back(child);
    }
  }
  return tables;
}

}  // namespace sisal::db
