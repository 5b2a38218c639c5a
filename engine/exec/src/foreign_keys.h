// Foreign keys: what a statement's rows need of other tables, and what becomes of the rows that need them.
//
// While rows are written, this only notes what is to be looked at and locks the keys that go. At the statement's end
// the notes are worked off in their order; actions write further rows, which add notes at the end, so nothing recurses.
//
// Concurrency. Every referenced key value has a lock of its own besides the intent on its row: the intent on the same
// bytes in KeyLockTree. Whoever takes the value away (DELETE, UPDATE of the key) holds it exclusively, whoever comes to
// need it, or moves a row that does, holds it shared; both to their end. So children do not wait for each other nor for
// a parent's other columns. The needy one then looks at the newest version of the key; the one that takes it away looks
// for children at a snapshot that has all commits which it may have waited for (Transaction::ScanNewest).
// Confined.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "check_constraints.h"
#include "program.h"
#include "sisal/sql/plan.h"
#include "state.h"

namespace sisal::exec {

class RowWriter;

// Where the locks of a tree's referenced keys lie: no tree has such a number.
inline TreeId KeyLockTree(TreeId tree) { return TreeId{tree.value | 1u << 31}; }

class ForeignKeys {
 public:
  explicit ForeignKeys(Frame& frame);
  ~ForeignKeys();

  // A row of the rules' table was written. `moved`: it lies under another key now. Suspends.
  Status Inserted(const sql::TableRules& rules, const RowView& row);
  Status Updated(const sql::TableRules& rules, const RowView& old_row, const RowView& new_row, bool moved);
  Status Deleted(const sql::TableRules& rules, const RowView& row);

  // All that these have left to do. Requires: own writes are not held back. Suspends.
  // Errors: 23503; 40001 if an action meets a row that is newer than the snapshot; those of writing rows.
  Status Finish();

 private:
  using Values = std::vector<type::Datum>;  // of a foreign key's columns, in its order
  struct Note {
    const sql::TableRules* rules = nullptr;
    const sql::ParentRule* parent = nullptr;  // set: a row needs `key` of this one; else:
    const sql::ChildRule* child = nullptr;    // `key` has gone, which this one references
    bool changed = false;                     // by an UPDATE, to new_values
    bool mixed = false;                       // NULLs and values under MATCH FULL
    std::string key;                          // as the referenced key has it; empty: no such key can be
    Values values, new_values;
  };
  class Children;

  Status Add(Note note);
  Status Need(const sql::TableRules& rules, const sql::ParentRule& rule, const RowView& row);
  Status Lose(const sql::TableRules& rules, const sql::ChildRule& rule, const RowView& row, const RowView* new_row);
  Status LookForParent(const Note& note);
  Status LookForChildren(Note note);
  // The note, and those that can be looked at together with it; what they leave in the queue has no rule.
  std::vector<Note> TakeAlike(Note first);
  Result<bool> StillHas(const Note& note, std::string_view row_key);
  // Whether a row of the note's table still needs its key.
  Result<bool> IsNeeded(const Note& note);
  Result<bool> Exists(TreeId tree, const std::string& key);
  // Does to the child's row what the note's action is, if it still has the note's key.
  Status Act(const Note& note, catalog::ReferenceAction action, std::string_view row_key);
  Status SetColumns(const Note& note, catalog::ReferenceAction action, std::string_view row_key,
                    const std::vector<type::Vector>& row);
  RowWriter& WriterOf(const sql::TableRules& rules);
  txn::Transaction& transaction() const { return *frame_.state.options.transaction; }

  Frame& frame_;
  std::deque<Note> notes_;
  std::unordered_set<std::string> needed_;  // rule and key of the notes that wait for a parent: one of each will do
  std::map<const sql::TableRules*, std::unique_ptr<RowWriter>> writers_;
  bool acted_ = false;  // an action has written rows: a note may be about a row that is another one now
};

}  // namespace sisal::exec
