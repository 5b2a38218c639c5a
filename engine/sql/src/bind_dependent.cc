// What depends on something that is being dropped: views whose text uses it.
#include <algorithm>

#include "binder.h"

namespace sisal::sql {

void Binder::AddViewsUsing(const catalog::Table& used, std::optional<uint32_t> slot, const std::string& description,
                           std::vector<Dependent>& found) const {
  for (const catalog::TablePtr& view : catalog::ViewsUsing(*context_.root, used.id, slot)) {
    const bool known =
        std::any_of(found.begin(), found.end(), [&](const Dependent& other) { return other.view == view; });
    if (known) continue;
    found.push_back({view, "view " + view->name + " depends on " + description});
    AddViewsUsing(*view, std::nullopt, "view " + view->name, found);
  }
}

Result<std::vector<catalog::TablePtr>> Binder::TakeDependents(const std::vector<Dependent>& found, bool cascade,
                                                              const std::string& description,
                                                              const std::vector<catalog::TablePtr>& dropped) {
  std::vector<catalog::TablePtr> views;
  std::string reasons;
  for (const Dependent& dependent : found) {
    if (std::find(dropped.begin(), dropped.end(), dependent.view) != dropped.end()) continue;
    views.push_back(dependent.view);
    UseTable(dependent.view);
    reasons += (reasons.empty() ? "" : "\n") + dependent.reason;
  }
  if (views.empty()) return views;
  if (!cascade) {
    const bool several = description.empty();
    return Error("2BP01", several ? "cannot drop desired object(s) because other objects depend on them"
                                  : "cannot drop " + description + " because other objects depend on it")
        .WithDetail(reasons)
        .WithHint("Use DROP ... CASCADE to drop the dependent objects too.");
  }
  Notice("00000", views.size() == 1 ? "drop cascades to view " + views[0]->name
                                    : "drop cascades to " + std::to_string(views.size()) + " other objects");
  return views;
}

// Of DROP TABLE and DROP VIEW.
Status Binder::DropDependents(PgQuery__DropBehavior behavior) {
  const std::vector<catalog::TablePtr>& dropped = statement_.drop.tables;
  std::vector<Dependent> found;
  std::string description;
  for (const catalog::TablePtr& table : dropped) {
    description = (table->view.has_value() ? "view " : "table ") + table->name;
    AddViewsUsing(*table, std::nullopt, description, found);
  }
  if (dropped.size() > 1) description.clear();
  SISAL_ASSIGN_OR_RETURN(
      statement_.drop.dependents,
      TakeDependents(found, behavior == PG_QUERY__DROP_BEHAVIOR__DROP_CASCADE, description, dropped));
  return Status();
}

}  // namespace sisal::sql
