// CREATE, ALTER and DROP SEQUENCE; sequences that go with their tables.
#include <algorithm>
#include <set>

#include "session.h"

namespace sisal::db {

Status EngineSession::StartDefinition() {
  if (!open_->txn->has_snapshot()) SISAL_RETURN_IF_ERROR(open_->txn->TakeSnapshot());
  if (open_->root == nullptr) PinRoot();
  return Status();
}

Result<catalog::SequencePtr> EngineSession::LockWholeSequence(const catalog::Sequence& sequence) {
  return engine_.catalog->LockSequence(*open_->txn, open_->changes.get(), sequence, txn::LockMode::kExclusive);
}

Status EngineSession::CreateSequence(const sql::Statement& statement, std::vector<Notice>& notices) {
  const sql::SequenceStatement& create = statement.sequence;
  SISAL_RETURN_IF_ERROR(StartDefinition());
  const auto skip = [&] {
    notices.push_back({"42P07", "relation \"" + create.name + "\" already exists, skipping", ""});
    return Status();
  };
  if (create.if_exists_or_not && Root()->RelationExists(create.schema, create.name)) return skip();
  catalog::Sequence sequence;
  sequence.schema = create.schema;
  sequence.name = create.name;
  SISAL_RETURN_IF_ERROR(catalog::ApplySequenceOptions(create.options, true, sequence));
  const bool owned = create.owner.has_value() && create.owner->table != nullptr;
  if (owned) sequence.owner = create.owner->table->id;
  const Result<catalog::SequencePtr> created =
      engine_.catalog->CreateSequence(*open_->txn, Changes(), std::move(sequence));
  if (!created.ok() && created.sqlstate() == "42P07" && create.if_exists_or_not) return skip();
  if (!created.ok()) return created.status();
  return owned ? SetOwned((*created)->id, create.owner->table->id, create.owner->column) : Status();
}

// Makes the column own the sequence; nullopt: no column of the table any more.
Status EngineSession::SetOwned(ObjectId sequence, ObjectId table_id, std::optional<uint32_t> column) {
  const catalog::TablePtr table = Changes().root()->FindTable(table_id);
  if (table == nullptr) return Error("42P01", "the sequence's table does not exist");
  catalog::Table changed = *table;
  for (catalog::Column& other : changed.columns) std::erase(other.sequences, sequence);
  if (column.has_value()) changed.columns[*column].sequences.push_back(sequence);
  return engine_.catalog->ChangeTable(*open_->txn, Changes(), table, std::move(changed)).status();
}

// The column whose identity the sequence gives; nullptr: none.
const catalog::Column* EngineSession::IdentityColumnOf(const catalog::Sequence& sequence, catalog::TablePtr& table) {
  table = Root()->FindTable(sequence.owner);
  if (table == nullptr) return nullptr;
  for (const catalog::Column& column : table->columns) {
    if (column.identity != catalog::Identity::kNone && !column.sequences.empty() &&
        column.sequences[0] == sequence.id) {
      return &column;
    }
  }
  return nullptr;
}

Status EngineSession::AlterSequence(const sql::Statement& statement, std::vector<Notice>& notices) {
  const sql::SequenceStatement& alter = statement.sequence;
  if (alter.altered == nullptr) {
    notices.push_back({"00000", "relation \"" + alter.name + "\" does not exist, skipping", ""});
    return Status();
  }
  SISAL_ASSIGN_OR_RETURN(catalog::SequencePtr sequence, LockWholeSequence(*alter.altered));
  SISAL_RETURN_IF_ERROR(StartDefinition());
  catalog::Sequence changed = *sequence;
  // Nobody else uses the sequence: its value stays what it is now.
  changed.initial = sequence->state->Look().value;
  SISAL_RETURN_IF_ERROR(catalog::ApplySequenceOptions(alter.options, false, changed));
  if (alter.owner.has_value()) {
    catalog::TablePtr table;
    if (IdentityColumnOf(*sequence, table) != nullptr) {
      return Error("0A000", "cannot change ownership of identity sequence")
          .WithDetail("Sequence \"" + sequence->name + "\" is linked to table \"" + table->name + "\".");
    }
    if (table != nullptr) SISAL_RETURN_IF_ERROR(SetOwned(sequence->id, table->id, std::nullopt));
    changed.owner = ObjectId();
    if (alter.owner->table != nullptr) {
      changed.owner = alter.owner->table->id;
      SISAL_RETURN_IF_ERROR(SetOwned(sequence->id, changed.owner, alter.owner->column));
    }
  }
  return engine_.catalog->ReplaceSequence(*open_->txn, Changes(), sequence, std::move(changed), true).status();
}

Status EngineSession::RestartSequence(const catalog::Sequence& bound) {
  SISAL_ASSIGN_OR_RETURN(const catalog::SequencePtr sequence, LockWholeSequence(bound));
  catalog::Sequence changed = *sequence;
  changed.initial = {sequence->start, false};
  return engine_.catalog->ReplaceSequence(*open_->txn, Changes(), sequence, std::move(changed), true).status();
}

Status EngineSession::RestartIdentity(const catalog::Table& table) {
  for (const catalog::Column& column : table.columns) {
    for (const ObjectId id : column.sequences) {
      const catalog::SequencePtr sequence = Root()->FindSequence(id);
      if (sequence != nullptr) SISAL_RETURN_IF_ERROR(RestartSequence(*sequence));
    }
  }
  return Status();
}

// Requires: the sequences are locked exclusively, so that no further DEFAULT can come to name them.
Result<std::vector<EngineSession::DefaultUse>> EngineSession::DefaultsThatUse(
    const std::vector<catalog::SequencePtr>& sequences, const std::vector<catalog::TablePtr>& dropped) {
  std::vector<DefaultUse> uses;
  const auto look = [&](const catalog::RootPtr& root, bool own) -> Status {
    sql::AnalyzeContext context;
    context.root = root;
    context.search_path = settings_.search_path();
    Status status;
    root->ForEachTable([&](const catalog::TablePtr& table) {
      const bool goes = std::any_of(dropped.begin(), dropped.end(),
                                    [&](const catalog::TablePtr& other) { return other->id == table->id; });
      if (goes || !status.ok() || Changes().Touches(table->id) != own) return;
      Result<std::vector<sql::DefaultSequence>> found = sql::SequencesOfDefaults(*table, context);
      if (!found.ok()) {
        status = found.status();
        return;
      }
      for (const sql::DefaultSequence& use : *found) {
        const auto sequence = std::find_if(sequences.begin(), sequences.end(), [&](const catalog::SequencePtr& other) {
          return other->id == use.sequence;
        });
        if (sequence != sequences.end()) uses.push_back({table, use.column, *sequence});
      }
    });
    return status;
  };
  SISAL_RETURN_IF_ERROR(look(engine_.catalog->Newest(), false));
  SISAL_RETURN_IF_ERROR(look(Changes().root(), true));
  return uses;
}

// 2BP01, or with CASCADE the DEFAULTs go. `what` is dropped: "table t"; empty: several objects.
Status EngineSession::DropDefaultsThatUse(const std::vector<catalog::SequencePtr>& sequences,
                                          const std::vector<catalog::TablePtr>& dropped, const std::string& what,
                                          bool cascade, std::vector<Notice>& notices) {
  SISAL_ASSIGN_OR_RETURN(const std::vector<DefaultUse> uses, DefaultsThatUse(sequences, dropped));
  if (uses.empty()) return Status();
  std::string detail;
  for (const DefaultUse& use : uses) {
    const std::string text =
        "default value for column " + use.table->columns[use.column].name + " of table " + use.table->name;
    detail += (detail.empty() ? "" : "\n") + text + " depends on sequence " + use.sequence->name;
    if (cascade && uses.size() == 1) notices.push_back({"00000", "drop cascades to " + text, ""});
  }
  if (!cascade) {
    return Error("2BP01", "cannot drop " + (what.empty() ? "desired object(s) because other objects depend on them"
                                                         : what + " because other objects depend on it"))
        .WithDetail(detail)
        .WithHint("Use DROP ... CASCADE to drop the dependent objects too.");
  }
  if (uses.size() > 1) {
    notices.push_back({"00000", "drop cascades to " + std::to_string(uses.size()) + " other objects", ""});
  }
  for (const DefaultUse& use : uses) {
    // Of the same table another one may have gone before.
    const catalog::TablePtr own =
        Changes().Touches(use.table->id) ? Changes().root()->FindTable(use.table->id) : nullptr;
    const catalog::TablePtr& table = own != nullptr ? own : use.table;
    catalog::Table changed = *table;
    changed.columns[use.column].default_sql.clear();
    SISAL_RETURN_IF_ERROR(engine_.catalog->ChangeTable(*open_->txn, Changes(), table, std::move(changed)).status());
  }
  return Status();
}

Status EngineSession::DropSequences(const sql::Statement& statement, std::vector<Notice>& notices) {
  for (const std::string& name : statement.drop.missing) {
    notices.push_back({"00000", "sequence \"" + name + "\" does not exist, skipping", ""});
  }
  if (statement.drop.sequences.empty()) return Status();
  std::vector<catalog::SequencePtr> sequences;
  for (const catalog::SequencePtr& bound : statement.drop.sequences) {
    SISAL_ASSIGN_OR_RETURN(sequences.emplace_back(), LockWholeSequence(*bound));
  }
  SISAL_RETURN_IF_ERROR(StartDefinition());
  for (const catalog::SequencePtr& sequence : sequences) {
    catalog::TablePtr table;
    if (const catalog::Column* column = IdentityColumnOf(*sequence, table)) {
      return Error("2BP01", "cannot drop sequence " + sequence->name + " because column " + column->name +
                                " of table " + table->name + " requires it")
          .WithHint("You can drop column " + column->name + " of table " + table->name + " instead.");
    }
  }
  const std::string what = sequences.size() == 1 ? "sequence " + sequences[0]->name : "";
  SISAL_RETURN_IF_ERROR(DropDefaultsThatUse(sequences, {}, what, statement.drop.cascade, notices));
  for (const catalog::SequencePtr& sequence : sequences) {
    if (Root()->FindTable(sequence->owner) != nullptr) {
      SISAL_RETURN_IF_ERROR(SetOwned(sequence->id, sequence->owner, std::nullopt));
    }
    SISAL_RETURN_IF_ERROR(engine_.catalog->DropSequence(*open_->txn, Changes(), sequence));
  }
  return Status();
}

// Before the tables go.
Status EngineSession::DropOwnedSequences(const std::vector<catalog::TablePtr>& tables, bool cascade,
                                         std::vector<Notice>& notices) {
  std::vector<catalog::SequencePtr> sequences;
  for (const catalog::TablePtr& table : tables) {
    for (const catalog::Column& column : table->columns) {
      for (const ObjectId id : column.sequences) {
        const catalog::SequencePtr bound = Root()->FindSequence(id);
        if (bound == nullptr) continue;
        SISAL_ASSIGN_OR_RETURN(sequences.emplace_back(), LockWholeSequence(*bound));
      }
    }
  }
  if (sequences.empty()) return Status();
  const std::string what = tables.size() == 1 ? "table " + tables[0]->name : "";
  SISAL_RETURN_IF_ERROR(DropDefaultsThatUse(sequences, tables, what, cascade, notices));
  for (const catalog::SequencePtr& sequence : sequences) {
    SISAL_RETURN_IF_ERROR(engine_.catalog->DropSequence(*open_->txn, Changes(), sequence));
  }
  return Status();
}

Status EngineSession::DropLostSequences(const catalog::Table& before, const catalog::Table& after, bool cascade,
                                        std::vector<Notice>& notices) {
  for (size_t i = 0; i < before.columns.size(); ++i) {
    if (before.columns[i].sequences.empty() || !after.columns[i].sequences.empty()) continue;
    std::vector<catalog::SequencePtr> sequences;
    for (const ObjectId id : before.columns[i].sequences) {
      const catalog::SequencePtr bound = Root()->FindSequence(id);
      if (bound == nullptr) continue;
      SISAL_ASSIGN_OR_RETURN(sequences.emplace_back(), LockWholeSequence(*bound));
    }
    const std::string what = "column " + before.columns[i].name + " of table " + before.name;
    SISAL_RETURN_IF_ERROR(DropDefaultsThatUse(sequences, {}, what, cascade, notices));
    for (const catalog::SequencePtr& sequence : sequences) {
      SISAL_RETURN_IF_ERROR(engine_.catalog->DropSequence(*open_->txn, Changes(), sequence));
    }
  }
  return Status();
}

Status EngineSession::LockSequencesOf(const sql::Statement& statement) {
  for (const catalog::SequencePtr& sequence : statement.sequences) {
    SISAL_RETURN_IF_ERROR(
        engine_.catalog->LockSequence(*open_->txn, open_->changes.get(), *sequence, txn::LockMode::kShared).status());
  }
  return Status();
}

// Those of its serial and identity columns, which are in its definition already.
Status EngineSession::CreateOwnedSequences(const std::vector<sql::OwnedSequence>& owned, const catalog::Table& table) {
  for (const sql::OwnedSequence& each : owned) {
    catalog::Sequence sequence = each.sequence;
    sequence.id = table.columns[each.column].sequences[0];
    sequence.owner = table.id;
    SISAL_RETURN_IF_ERROR(engine_.catalog->CreateSequence(*open_->txn, Changes(), std::move(sequence)).status());
  }
  return Status();
}

}  // namespace sisal::db
