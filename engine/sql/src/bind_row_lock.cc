// FOR UPDATE, FOR SHARE and their weaker forms.
#include <algorithm>

#include "binder.h"

namespace sisal::sql {
namespace {

// Our two modes stand for PostgreSQL's four, the weaker ones lock more than they must.
RowLockMode ModeOf(const PgQuery__LockingClause& clause) {
  const bool share = clause.strength == PG_QUERY__LOCK_CLAUSE_STRENGTH__LCS_FORKEYSHARE ||
                     clause.strength == PG_QUERY__LOCK_CLAUSE_STRENGTH__LCS_FORSHARE;
  return share ? RowLockMode::kShare : RowLockMode::kUpdate;
}

RowLockWait WaitOf(const PgQuery__LockingClause& clause) {
  switch (clause.wait_policy) {
    case PG_QUERY__LOCK_WAIT_POLICY__LockWaitError:
      return RowLockWait::kNoWait;
    case PG_QUERY__LOCK_WAIT_POLICY__LockWaitSkip:
      return RowLockWait::kSkipLocked;
    default:
      return RowLockWait::kWait;
  }
}

// Which other clauses of the query do not go with a lock: rows of the result must be rows of the tables.
Status CheckLockable(const PgQuery__SelectStmt& node, const Scope& scope, const std::string& name) {
  if (node.n_distinct_clause > 0) return Error("0A000", name + " is not allowed with DISTINCT clause");
  if (node.n_group_clause > 0) return Error("0A000", name + " is not allowed with GROUP BY clause");
  if (node.having_clause != nullptr) return Error("0A000", name + " is not allowed with HAVING clause");
  if (scope.has_aggregates) return Error("0A000", name + " is not allowed with aggregate functions");
  if (!scope.window_uses.empty()) return Error("0A000", name + " is not allowed with window functions");
  return Status();
}

// A sub-select over constants or a function: there is nothing to lock in it.
bool IsTableless(const Plan* plan) {
  while (plan->kind == PlanKind::kProject || plan->kind == PlanKind::kFilter || plan->kind == PlanKind::kSort ||
         plan->kind == PlanKind::kLimit) {
    plan = plan->inputs[0];
  }
  return plan->kind == PlanKind::kValues || plan->kind == PlanKind::kFunctionScan;
}

}  // namespace

std::string LockName(const PgQuery__LockingClause& clause) {
  switch (clause.strength) {
    case PG_QUERY__LOCK_CLAUSE_STRENGTH__LCS_FORKEYSHARE:
      return "FOR KEY SHARE";
    case PG_QUERY__LOCK_CLAUSE_STRENGTH__LCS_FORSHARE:
      return "FOR SHARE";
    case PG_QUERY__LOCK_CLAUSE_STRENGTH__LCS_FORNOKEYUPDATE:
      return "FOR NO KEY UPDATE";
    default:
      return "FOR UPDATE";
  }
}

Status Binder::LockLeaf(Leaf& leaf, const PgQuery__LockingClause& clause) {
  const std::string name = LockName(clause);
  if (leaf.kind == LeafKind::kSystemView && leaf.plan->sequence != ObjectId()) {
    return Error("42809", "cannot lock rows in sequence \"" + leaf.plan->system_view + "\"");
  }
  if (leaf.kind == LeafKind::kSystemView) return NotSupported(-1, name + " of a system view");
  if (leaf.kind == LeafKind::kPlan && !IsTableless(leaf.plan)) {
    return NotSupported(-1, name + " of a sub-select in FROM");
  }
  if (leaf.kind != LeafKind::kTable) return Status();
  if (leaf.nullable) return Error("0A000", name + " cannot be applied to the nullable side of an outer join");
  leaf.row_lock = std::max(leaf.row_lock, ModeOf(clause));
  leaf.lock_wait = std::max(leaf.lock_wait, WaitOf(clause));
  statement_.read_only = false;
  return Status();
}

// FOR UPDATE OF a relation.
Status Binder::LockRelation(Scope& scope, const PgQuery__RangeVar& relation, const PgQuery__LockingClause& clause) {
  const std::string name = LockName(clause);
  const std::string_view wanted = View(relation.relname);
  if (!View(relation.schemaname).empty() || !View(relation.catalogname).empty()) {
    return At(relation.location, "42601", name + " must specify unqualified relation names");
  }
  const auto leaf =
      std::find_if(scope.leaves.begin(), scope.leaves.end(), [&](const Leaf& other) { return other.alias == wanted; });
  if (leaf == scope.leaves.end()) {
    const bool join = std::any_of(scope.items.begin(), scope.items.end(),
                                  [&](const NamespaceItem& item) { return item.name == wanted; });
    if (join) return At(relation.location, "0A000", name + " cannot be applied to a join");
    return At(relation.location, "42P01",
              "relation \"" + std::string(wanted) + "\" in " + name + " clause not found in FROM clause");
  }
  if (leaf->kind == LeafKind::kFunction)
    return At(relation.location, "0A000", name + " cannot be applied to a function");
  if (leaf->kind == LeafKind::kWithQuery) {
    return At(relation.location, "0A000", name + " cannot be applied to a WITH query");
  }
  return LockLeaf(*leaf, clause);
}

Status Binder::BindRowLocks(Scope& scope, const PgQuery__SelectStmt& node, std::vector<Target>& targets) {
  for (const Node* item : NodeList(node.locking_clause, node.n_locking_clause)) {
    const PgQuery__LockingClause& clause = *item->locking_clause;
    SISAL_RETURN_IF_ERROR(CheckLockable(node, scope, LockName(clause)));
    if (clause.n_locked_rels == 0) {
      for (Leaf& leaf : scope.leaves) SISAL_RETURN_IF_ERROR(LockLeaf(leaf, clause));
    }
    for (const Node* relation : NodeList(clause.locked_rels, clause.n_locked_rels)) {
      SISAL_RETURN_IF_ERROR(LockRelation(scope, *relation->range_var, clause));
    }
  }
  for (uint32_t i = 0; i < scope.leaves.size(); ++i) {
    if (scope.leaves[i].row_lock == RowLockMode::kNone) continue;
    AddKeyColumn(scope, i);
    Target key;
    key.expr = MakeColumn(*scope.leaves[i].key_id, TypeId::kBytea, -1);
    key.junk = true;
    key.locked = &scope.leaves[i];
    targets.push_back(std::move(key));
  }
  return Status();
}

// The last targets are the keys of the rows.
Plan* Binder::AddLockRows(Plan* plan, const std::vector<Target>& targets) {
  Plan* locked = NewPlan(PlanKind::kLockRows);
  locked->inputs = {plan};
  for (const Target& target : targets) {
    if (target.locked == nullptr) continue;
    locked->row_locks.push_back({target.locked->table, target.locked->row_lock, target.locked->lock_wait});
  }
  locked->output = plan->output;
  locked->output.resize(plan->output.size() - locked->row_locks.size());
  return locked;
}

}  // namespace sisal::sql
