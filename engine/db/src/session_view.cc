// CREATE VIEW, and what keeps a view from losing what it uses.
#include <algorithm>

#include "result.h"
#include "session.h"

namespace sisal::db {

// What the view uses is locked against other definitions until it is committed: whoever drops it then finds the view.
Status EngineSession::CreateView(const sql::Statement& statement) {
  const sql::CreateViewStatement& create = statement.create_view;
  for (const catalog::TablePtr& used : statement.tables) {
    SISAL_RETURN_IF_ERROR(engine_.catalog->LockTable(*open_->txn, *used, txn::LockMode::kShared));
  }
  if (!open_->txn->has_snapshot()) {
    SISAL_RETURN_IF_ERROR(engine_.store->WaitApplied({}));
    SISAL_RETURN_IF_ERROR(open_->txn->TakeSnapshot());
    PinRoot();
  }
  for (const catalog::TablePtr& used : statement.tables) {
    if (Root()->FindTable(used->id) == used) continue;
    return Error("40001", "could not serialize access due to a concurrent change of \"" + used->name + "\"")
        .WithTable(used->schema, used->name);
  }
  if (create.replaced == nullptr) {
    return engine_.catalog->CreateTable(*open_->txn, Changes(), *create.view).status();
  }
  catalog::Table changed = *create.replaced;
  changed.SetColumns(create.view->columns);
  changed.view = create.view->view;
  return engine_.catalog->ChangeTable(*open_->txn, Changes(), create.replaced, std::move(changed)).status();
}

Status EngineSession::CheckViews(const std::vector<catalog::TablePtr>& views,
                                 const std::vector<catalog::TablePtr>& going) {
  for (const catalog::TablePtr& view : views) {
    const bool goes =
        std::any_of(going.begin(), going.end(), [&](const catalog::TablePtr& other) { return other->id == view->id; });
    if (goes || Changes().Touches(view->id)) continue;
    return Error("40001", "could not serialize access due to a concurrent change of view \"" + view->name + "\"")
        .WithTable(view->schema, view->name);
  }
  return Status();
}

}  // namespace sisal::db
