#include "foreign_keys.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <set>

#include "reference_key.h"
#include "row_writer.h"
#include "sisal/exec/alter.h"

namespace sisal::exec {

using catalog::ReferenceAction;
using type::Vector;

namespace {

uint64_t BytesOf(const std::string& key, size_t columns) { return 192 + key.size() + 64 * columns; }

// Of a rule and a key, for a set of both.
std::string NeedOf(const sql::ParentRule& rule, const std::string& key) {
  const void* address = &rule;
  std::string need(sizeof(address), '\0');
  std::memcpy(need.data(), &address, sizeof(address));
  return need + key;
}

// "Key (a, b)=(1, 2)".
std::string DescribeKey(const catalog::Table& table, const std::vector<uint32_t>& columns,
                        const std::vector<type::Datum>& values) {
  std::string names, texts;
  for (size_t i = 0; i < columns.size(); ++i) {
    const catalog::Column& column = table.columns[columns[i]];
    names += (i == 0 ? "" : ", ") + column.name;
    texts += i == 0 ? "" : ", ";
    texts += values[i].is_null() ? "null" : type::FormatText(column.type, values[i], {});
  }
  return "Key (" + names + ")=(" + texts + ")";
}

Error Violation(std::string message, std::string detail, const catalog::Table& child, const catalog::ForeignKey& key) {
  return Error("23503", std::move(message))
      .WithDetail(std::move(detail))
      .WithTable(child.schema, child.name)
      .WithConstraint(key.name);
}

Error MissingParent(const catalog::Table& child, const catalog::ForeignKey& key, std::string detail) {
  return Violation(
      "insert or update on table \"" + child.name + "\" violates foreign key constraint \"" + key.name + "\"",
      std::move(detail), child, key);
}

Error StillReferenced(const catalog::Table& parent, const sql::ChildRule& rule,
                      const std::vector<type::Datum>& values) {
  const catalog::Table& child = *rule.child;
  return Violation(
      "update or delete on table \"" + parent.name + "\" violates foreign key constraint \"" + rule.key->name +
          "\" on table \"" + child.name + "\"",
      DescribeKey(parent, rule.key->referenced, values) + " is still referenced from table \"" + child.name + "\".",
      child, *rule.key);
}

}  // namespace

ForeignKeys::ForeignKeys(Frame& frame) : frame_(frame) {}
ForeignKeys::~ForeignKeys() = default;

RowWriter& ForeignKeys::WriterOf(const sql::TableRules& rules) {
  std::unique_ptr<RowWriter>& writer = writers_[&rules];
  if (writer == nullptr) writer = std::make_unique<RowWriter>(*rules.table, &rules, frame_, this);
  return *writer;
}

Status ForeignKeys::Add(Note note) {
  SISAL_RETURN_IF_ERROR(frame_.state.memory.Charge(BytesOf(note.key, note.values.size())));
  notes_.push_back(std::move(note));
  return Status();
}

Status ForeignKeys::Inserted(const sql::TableRules& rules, const RowView& row) {
  for (const sql::ParentRule& rule : rules.parents) SISAL_RETURN_IF_ERROR(Need(rules, rule, row));
  return Status();
}

Status ForeignKeys::Updated(const sql::TableRules& rules, const RowView& old_row, const RowView& new_row, bool moved) {
  for (const sql::ChildRule& rule : rules.children) {
    if (SameColumns(rule.key->referenced, old_row, new_row)) continue;
    SISAL_RETURN_IF_ERROR(Lose(rules, rule, old_row, &new_row));
  }
  for (const sql::ParentRule& rule : rules.parents) {
    if (!moved && SameColumns(rule.key->columns, old_row, new_row)) continue;
    SISAL_RETURN_IF_ERROR(Need(rules, rule, new_row));
  }
  return Status();
}

Status ForeignKeys::Deleted(const sql::TableRules& rules, const RowView& row) {
  for (const sql::ChildRule& rule : rules.children) SISAL_RETURN_IF_ERROR(Lose(rules, rule, row, nullptr));
  return Status();
}

Status ForeignKeys::Need(const sql::TableRules& rules, const sql::ParentRule& rule, const RowView& row) {
  const std::vector<uint32_t>& columns = rule.key->columns;
  const auto is_null = [&](uint32_t column) { return row.columns[column].IsNull(row.row); };
  const auto nulls = static_cast<size_t>(std::count_if(columns.begin(), columns.end(), is_null));
  if (nulls == columns.size() || (nulls > 0 && !rule.key->match_full)) return Status();
  Note note;
  note.rules = &rules;
  note.parent = &rule;
  note.mixed = nulls > 0;
  if (!note.mixed) {
    AppendReferencedKey(rule.parts, columns, *rule.parent, rule.key->referenced, row, note.key);
    if (!needed_.insert(NeedOf(rule, note.key)).second) return Status();
  }
  note.values = ValuesOf(columns, row);
  return Add(std::move(note));
}

Status ForeignKeys::Lose(const sql::TableRules& rules, const sql::ChildRule& rule, const RowView& row,
                         const RowView* new_row) {
  const std::vector<uint32_t>& columns = rule.key->referenced;
  const auto is_null = [&](uint32_t column) { return row.columns[column].IsNull(row.row); };
  if (std::any_of(columns.begin(), columns.end(), is_null)) return Status();
  Note note;
  note.rules = &rules;
  note.child = &rule;
  AppendReferencedKey(rule.parts, columns, *rules.table, columns, row, note.key);
  if (new_row != nullptr) {
    std::string new_key;
    AppendReferencedKey(rule.parts, columns, *rules.table, columns, *new_row, new_key);
    if (new_key == note.key) return Status();
    note.changed = true;
    note.new_values = ValuesOf(columns, *new_row);
  }
  note.values = ValuesOf(columns, row);
  SISAL_RETURN_IF_ERROR(transaction().Lock(KeyLockTree(rule.tree), note.key, txn::LockMode::kExclusive,
                                           txn::LockWait::kWait, txn::Conflict::kIgnore));
  return Add(std::move(note));
}

Status ForeignKeys::Finish() {
  while (!notes_.empty()) {
    SISAL_RETURN_IF_ERROR(frame_.state.CheckInterrupt());
    Note note = std::move(notes_.front());
    notes_.pop_front();
    frame_.state.memory.Release(BytesOf(note.key, note.values.size()));
    if (note.parent != nullptr) {
      if (!note.mixed) needed_.erase(NeedOf(*note.parent, note.key));
      SISAL_RETURN_IF_ERROR(LookForParent(note));
    } else {
      SISAL_RETURN_IF_ERROR(LookForChildren(std::move(note)));
    }
  }
  return Status();
}

// Requires: a lock on the key, so that it does not go.
Result<bool> ForeignKeys::Exists(TreeId tree, const std::string& key) {
  Arena arena(256);
  SISAL_ASSIGN_OR_RETURN(const auto value, transaction().GetNewest(tree, key, arena));
  return value.has_value();
}

Status ForeignKeys::LookForParent(const Note& note) {
  const sql::ParentRule& rule = *note.parent;
  const catalog::Table& child = *note.rules->table;
  if (!note.mixed && !note.key.empty()) {
    SISAL_RETURN_IF_ERROR(transaction().Lock(KeyLockTree(rule.tree), note.key, txn::LockMode::kShared,
                                             txn::LockWait::kWait, txn::Conflict::kIgnore));
    SISAL_ASSIGN_OR_RETURN(const bool exists, Exists(rule.tree, note.key));
    if (exists) return Status();
  }
  if (acted_) {
    SISAL_ASSIGN_OR_RETURN(const bool needed, IsNeeded(note));
    if (!needed) return Status();
  }
  if (note.mixed) {
    return MissingParent(child, *rule.key, "MATCH FULL does not allow mixing of null and nonnull key values.");
  }
  return MissingParent(
      child, *rule.key,
      DescribeKey(child, rule.key->columns, note.values) + " is not present in table \"" + rule.parent->name + "\".");
}

Result<bool> ForeignKeys::IsNeeded(const Note& note) {
  const sql::ParentRule& rule = *note.parent;
  const catalog::Table& child = *note.rules->table;
  SISAL_ASSIGN_OR_RETURN(const auto cursor, transaction().ScanNewest(child.tree, {}));
  txn::EntryBatch batch;
  for (;;) {
    SISAL_RETURN_IF_ERROR(cursor->Next(type::kVectorSize, batch));
    if (batch.keys.empty()) return false;
    for (const std::string_view bytes : batch.values) {
      SISAL_ASSIGN_OR_RETURN(const StoredRow row, StoredRow::Decode(child, rule.key->columns, bytes));
      if (ValuesOf(rule.key->columns, row.view()) == note.values) return true;
    }
  }
}

Status CheckForeignKey(const ExecutionOptions& options, const catalog::TablePtr& table,
                       const catalog::ForeignKey& key) {
  txn::Transaction& transaction = *options.transaction;
  sql::ParentRule rule;
  rule.key = &key;
  rule.parent = key.table == table->id ? table : options.root->FindTable(key.table);
  if (rule.parent == nullptr || !sql::FindReferencedKey(rule)) {
    return Error("XX001", "foreign key \"" + key.name + "\" references columns without a key");
  }
  SISAL_ASSIGN_OR_RETURN(const auto cursor, transaction.ScanNewest(table->tree, {}));
  txn::EntryBatch batch;
  Arena arena;
  for (;;) {
    if (options.cancel != nullptr) SISAL_RETURN_IF_ERROR(options.cancel->Check());
    SISAL_RETURN_IF_ERROR(cursor->Next(type::kVectorSize, batch));
    if (batch.keys.empty()) return Status();
    for (const std::string_view bytes : batch.values) {
      SISAL_ASSIGN_OR_RETURN(const StoredRow row, StoredRow::Decode(*table, key.columns, bytes));
      const auto is_null = [&](uint32_t column) { return row.columns()[column].IsNull(0); };
      const auto nulls = static_cast<size_t>(std::count_if(key.columns.begin(), key.columns.end(), is_null));
      if (nulls == key.columns.size() || (nulls > 0 && !key.match_full)) continue;
      if (nulls > 0) {
        return MissingParent(*table, key, "MATCH FULL does not allow mixing of null and nonnull key values.");
      }
      std::string wanted;
      AppendReferencedKey(rule.parts, key.columns, *rule.parent, key.referenced, row.view(), wanted);
      arena.Reset();
      SISAL_ASSIGN_OR_RETURN(const auto found, transaction.GetNewest(rule.tree, wanted, arena));
      if (!wanted.empty() && found.has_value()) continue;
      return MissingParent(*table, key,
                           DescribeKey(*table, key.columns, ValuesOf(key.columns, row.view())) +
                               " is not present in table \"" + rule.parent->name + "\".");
    }
  }
}

// The rows that have the key of one of several notes of one rule.
class ForeignKeys::Children {
 public:
  // The first of the notes is the one whose turn it is.
  Children(ForeignKeys& keys, const std::vector<Note>& notes) : keys_(keys), notes_(notes) {}

  // Does to all of them what the action is. Suspends.
  Status ActOnAll(ReferenceAction action) {
    for (const Note& note : notes_) by_key_.emplace(note.key, &note);
    return Visit([&](const Note& note, std::string_view row_key) { return keys_.Act(note, action, row_key); });
  }

  // The notes of those that are `gone` and still have a row, by place; or the first alone, if it has one. Suspends.
  Result<std::set<size_t>> FindReferenced(const std::vector<bool>& gone) {
    for (size_t i = 0; i < notes_.size(); ++i) {
      if (gone[i]) by_key_.emplace(notes_[i].key, &notes_[i]);
    }
    std::set<size_t> found;
    stop_ = [&] { return found.contains(0); };
    SISAL_RETURN_IF_ERROR(Visit([&](const Note& note, std::string_view row_key) -> Status {
      const auto place = static_cast<size_t>(&note - notes_.data());
      if (found.contains(place)) return Status();
      SISAL_ASSIGN_OR_RETURN(const bool has, keys_.StillHas(note, row_key));
      if (has) found.insert(place);
      return Status();
    }));
    return found;
  }

 private:
  using Visitor = std::function<Status(const Note&, std::string_view row_key)>;

  Status Visit(const Visitor& visit) {
    if (by_key_.empty()) return Status();
    const sql::ChildRule& rule = *notes_.front().child;
    return rule.access.has_value() ? ByAccess(notes_.front(), visit) : ByReadingAll(rule, visit);
  }

  // Requires: one note.
  Status ByAccess(const Note& note, const Visitor& visit) {
    const sql::ChildRule& rule = *note.child;
    std::string prefix;
    if (!AppendAccessKey(rule, note.values, prefix)) return Status();
    const bool is_rows = *rule.access == rule.child->tree;
    SISAL_ASSIGN_OR_RETURN(const auto cursor,
                           keys_.transaction().ScanNewest(*rule.access, {prefix, type::PrefixEnd(prefix)}));
    txn::EntryBatch batch;
    // Often there is none, or one is enough.
    for (size_t limit = 8; !stop_(); limit = type::kVectorSize) {
      SISAL_RETURN_IF_ERROR(cursor->Next(limit, batch));
      if (batch.keys.empty()) return Status();
      for (size_t i = 0; i < batch.keys.size() && !stop_(); ++i) {
        SISAL_RETURN_IF_ERROR(visit(note, is_rows ? batch.keys[i] : batch.values[i]));
      }
    }
    return Status();
  }

  Status ByReadingAll(const sql::ChildRule& rule, const Visitor& visit) {
    SISAL_ASSIGN_OR_RETURN(const auto cursor, keys_.transaction().ScanNewest(rule.child->tree, {}));
    txn::EntryBatch batch;
    while (!stop_()) {
      SISAL_RETURN_IF_ERROR(keys_.frame_.state.CheckInterrupt());
      SISAL_RETURN_IF_ERROR(cursor->Next(type::kVectorSize, batch));
      if (batch.keys.empty()) return Status();
      for (size_t i = 0; i < batch.keys.size() && !stop_(); ++i) {
        SISAL_ASSIGN_OR_RETURN(const std::string key, KeyOfChild(rule, *notes_.front().rules->table, batch.values[i]));
        const auto note = key.empty() ? by_key_.end() : by_key_.find(key);
        if (note != by_key_.end()) SISAL_RETURN_IF_ERROR(visit(*note->second, batch.keys[i]));
      }
    }
    return Status();
  }

  ForeignKeys& keys_;
  const std::vector<Note>& notes_;
  std::map<std::string_view, const Note*> by_key_;
  std::function<bool()> stop_ = [] { return false; };
};

// Where all rows must be read, once is enough for all keys that the rule has lost so far.
std::vector<ForeignKeys::Note> ForeignKeys::TakeAlike(Note first) {
  std::vector<Note> notes;
  notes.push_back(std::move(first));
  if (notes.front().child->access.has_value()) return notes;
  for (Note& note : notes_) {
    if (note.child == notes.front().child && note.changed == notes.front().changed) {
      frame_.state.memory.Release(BytesOf(note.key, note.values.size()));
      notes.push_back(std::move(note));
      note.child = nullptr;
    }
  }
  return notes;
}

Status ForeignKeys::LookForChildren(Note first) {
  const sql::ChildRule& rule = *first.child;
  const ReferenceAction action = first.changed ? rule.key->on_update : rule.key->on_delete;
  const bool writes = action != ReferenceAction::kNoAction && action != ReferenceAction::kRestrict;
  const std::vector<Note> notes = TakeAlike(std::move(first));
  if (writes) {
    std::erase_if(notes_, [](const Note& note) { return note.parent == nullptr && note.child == nullptr; });
    acted_ = true;
    Children children(*this, notes);
    SISAL_RETURN_IF_ERROR(children.ActOnAll(action));
    // The defaults may be the very key that has gone.
    if (action != ReferenceAction::kSetDefault) return Status();
  }
  // NO ACTION is about the statement's outcome: another row may have the key by now.
  std::vector<bool> gone(notes.size(), true);
  for (size_t i = 0; i < notes.size() && action != ReferenceAction::kRestrict; ++i) {
    SISAL_ASSIGN_OR_RETURN(const bool exists, Exists(rule.tree, notes[i].key));
    gone[i] = !exists;
  }
  Children children(*this, notes);
  SISAL_ASSIGN_OR_RETURN(const std::set<size_t> found, children.FindReferenced(gone));
  if (!found.empty() && (writes || *found.begin() == 0)) {
    return StillReferenced(*notes.front().rules->table, rule, notes[*found.begin()].values);
  }
  if (writes) return Status();
  // The others' errors come in their turn, if nothing before them fails or changes that.
  size_t next = 1;
  for (Note& note : notes_) {
    if (note.parent != nullptr || note.child != nullptr) continue;
    if (found.contains(next)) {
      note = notes[next];
      SISAL_RETURN_IF_ERROR(frame_.state.memory.Charge(BytesOf(note.key, note.values.size())));
    }
    ++next;
  }
  std::erase_if(notes_, [](const Note& note) { return note.parent == nullptr && note.child == nullptr; });
  return Status();
}

// Takes an intent on the row first: whoever is changing it may take its key away, so wait for the outcome.
Result<bool> ForeignKeys::StillHas(const Note& note, std::string_view row_key) {
  const sql::ChildRule& rule = *note.child;
  SISAL_RETURN_IF_ERROR(transaction().Lock(rule.child->tree, row_key, txn::LockMode::kShared, txn::LockWait::kWait,
                                           txn::Conflict::kIgnore));
  Arena arena(1024);
  SISAL_ASSIGN_OR_RETURN(const auto bytes, transaction().GetNewest(rule.child->tree, row_key, arena));
  if (!bytes.has_value()) return false;
  SISAL_ASSIGN_OR_RETURN(const std::string key, KeyOfChild(rule, *note.rules->table, *bytes));
  return key == note.key;
}

Status ForeignKeys::Act(const Note& note, ReferenceAction action, std::string_view row_key) {
  const sql::ChildRule& rule = *note.child;
  const catalog::Table& child = *rule.child;
  SISAL_RETURN_IF_ERROR(
      transaction().Lock(child.tree, row_key, txn::LockMode::kExclusive, txn::LockWait::kWait, txn::Conflict::kCheck));
  Arena arena(1024);
  SISAL_ASSIGN_OR_RETURN(const auto bytes, transaction().GetNewest(child.tree, row_key, arena));
  if (!bytes.has_value()) return Status();
  SISAL_ASSIGN_OR_RETURN(const std::string key, KeyOfChild(rule, *note.rules->table, *bytes));
  if (key != note.key) return Status();
  SISAL_ASSIGN_OR_RETURN(const StoredRow row, StoredRow::Decode(child, {}, *bytes));
  if (action == ReferenceAction::kCascade && !note.changed) {
    return WriterOf(*rule.rules).Delete(row_key, row.view());
  }
  return SetColumns(note, action, row_key, row.columns());
}

Status ForeignKeys::SetColumns(const Note& note, ReferenceAction action, std::string_view row_key,
                               const std::vector<Vector>& row) {
  const sql::ChildRule& rule = *note.child;
  const catalog::ForeignKey& key = *rule.key;
  Arena arena(1024);
  std::vector<Vector> changed = row;
  for (size_t i = 0; i < key.columns.size(); ++i) {
    const uint32_t column = key.columns[i];
    const bool chosen =
        note.changed || key.set_on_delete.empty() ||
        std::find(key.set_on_delete.begin(), key.set_on_delete.end(), column) != key.set_on_delete.end();
    if (!chosen) continue;
    type::Datum value;
    if (action == ReferenceAction::kCascade) {
      SISAL_ASSIGN_OR_RETURN(value, ForColumn(note.new_values[i], rule.child->columns[column].type));
    } else if (action == ReferenceAction::kSetDefault) {
      SISAL_ASSIGN_OR_RETURN(value, Program::Compile(rule.defaults[i], frame_).EvaluateScalar());
    }
    changed[column] = type::MakeConstant(rule.child->columns[column].type, value, arena);
  }
  RowWriter& writer = WriterOf(*rule.rules);
  return writer.Update(row_key, {row, 0}, {changed, 0});
}

}  // namespace sisal::exec
