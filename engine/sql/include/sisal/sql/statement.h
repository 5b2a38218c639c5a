// From SQL text to a bound and planned statement.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sisal/base/status.h"
#include "sisal/catalog/catalog.h"
#include "sisal/sql/plan.h"

namespace sisal::sql {

enum class StatementKind : uint8_t {
  kEmpty,  // only blanks and comments
  kQuery,
  kInsert,
  kUpdate,
  kDelete,
  kCreateTable,
  kDropTable,
  kCreateIndex,
  kDropIndex,
  kTruncate,
  kAlterTable,
  kCreateView,
  kDropView,
  kCreateSequence,
  kAlterSequence,
  kDropSequence,
  kBegin,
  kCommit,
  kRollback,
  kSavepoint,
  kReleaseSavepoint,
  kRollbackToSavepoint,
  kSet,
  kReset,
  kShow,
  kSetTransaction,
  kExplain,
};

struct OutputColumn {
  std::string name;
  type::SqlType type;
  bool not_null = false;
};

struct OwnedSequence {
  uint32_t column = 0;
  catalog::Sequence sequence;  // ids unset
};
struct CreateTableStatement {
  std::unique_ptr<catalog::Table> table;  // ids unset
  std::vector<OwnedSequence> sequences;   // of its serial and identity columns
  bool if_not_exists = false;
};
struct CreateIndexStatement {
  catalog::TablePtr table;
  catalog::Index index;  // ids unset; name chosen as PostgreSQL does where the text has none
  bool if_not_exists = false;
};
struct DropStatement {
  std::vector<catalog::TablePtr> tables;  // found; DROP INDEX: the tables of the indexes, with index_names
  std::vector<std::string> index_names;
  std::vector<catalog::TablePtr> dependents;  // CASCADE: views that go too, those that are used by others first
  std::vector<catalog::SequencePtr> sequences;
  std::vector<std::string> missing;  // IF EXISTS: a notice each (00000, "table \"t\" does not exist, skipping")
  bool cascade = false;
  bool restart_identity = false;  // TRUNCATE
};
// CREATE and ALTER SEQUENCE.
struct SequenceStatement {
  struct Owner {
    catalog::TablePtr table;  // nullptr: NONE
    uint32_t column = 0;
  };
  std::string schema, name;
  catalog::SequencePtr altered;  // ALTER; nullptr: it is not there, which IF EXISTS allows
  catalog::SequenceOptions options;
  std::optional<Owner> owner;     // absent: not said
  bool if_exists_or_not = false;  // IF NOT EXISTS of CREATE, IF EXISTS of ALTER
};
struct CreateViewStatement {
  std::unique_ptr<catalog::Table> view;  // ids unset
  catalog::TablePtr replaced;            // OR REPLACE: what stands in its place; nullptr: nothing
};
struct StatementNotice {
  std::string sqlstate;
  std::string message;
};
// ALTER TABLE and ALTER INDEX, with all their actions.
struct AlterTableStatement {
  catalog::TablePtr table;    // nullptr: it is not there, which IF EXISTS allows
  catalog::TablePtr changed;  // what becomes of it; trees that have to be filled stand at 0
  std::vector<StatementNotice> notices;
  const TableRules* rules = nullptr;  // CHECKs that the rows have not been held against; nullptr: none
  std::vector<uint32_t> not_null;     // columns in which there may be NULLs that must not be
  std::vector<Assignment> missing;    // of added columns: what the rows give that are there, left as they are; constant
  std::vector<Assignment> values;     // of each row, over the old row's slots: changed->tree is 0
  std::vector<catalog::TablePtr> dependents;  // CASCADE: views that go
};
struct TransactionStatement {
  std::optional<txn::Isolation> isolation;
  std::optional<bool> read_only;
  std::optional<bool> deferrable;
  std::string savepoint;
  bool chain = false;
};
struct SettingStatement {
  std::string name;   // lower case
  std::string value;  // SET: the text; empty with is_default: DEFAULT
  bool is_default = false;
  bool local = false;
};

// Immutable and shared: what the plan cache holds.
struct Statement {
  StatementKind kind = StatementKind::kEmpty;
  std::string command;    // command tag without counts: "SELECT", "INSERT", "CREATE TABLE"
  bool read_only = true;  // writes nothing, takes no row locks, and moves no sequence
  // A query that is not read-only only because it calls nextval() or setval(), which look at the transaction
  // themselves.
  bool only_moves_sequences = false;
  bool calls_nextval = false;  // or setval()
  bool returns_rows = false;
  std::vector<OutputColumn> output;
  std::vector<type::SqlType> params;            // $1, $2, ...
  std::vector<catalog::TablePtr> tables;        // used, to be locked and re-validated
  std::vector<catalog::SequencePtr> sequences;  // used by name
  bool depends_on_catalog = true;               // false: valid under any root
  const Plan* plan = nullptr;                   // kQuery, kInsert, kUpdate, kDelete, kExplain (of the inner statement)
  CreateTableStatement create_table;
  CreateIndexStatement create_index;
  DropStatement drop;
  AlterTableStatement alter;
  CreateViewStatement create_view;
  SequenceStatement sequence;
  TransactionStatement transaction;
  SettingStatement setting;
  bool explain_analyze = false;

  ExprPool exprs;  // owns what the plan refers to
  std::deque<Plan> plans;
  std::deque<TableRules> rules;
};
using StatementPtr = std::shared_ptr<const Statement>;

struct AnalyzeContext {
  catalog::RootPtr root;
  std::vector<std::string> search_path = {"public"};
  type::TextSettings text;  // for literals read at bind time
};

inline constexpr uint64_t kStatementBytesMax = 16 << 20;
inline constexpr uint64_t kStatementTokensMax = 2'000'000;
// Levels that a statement's parse tree may have; its expressions and plans are no deeper.
inline constexpr uint32_t kNestingMax = 2000;

// Parses, binds and plans one statement. Runs on a stack of its own, because the parser recurses; does not suspend.
// Errors: 42601 syntax (position set), 54001 nesting, 54000 too long, 22021 invalid UTF-8, 42P01, 42703, 42883, 42804,
// 42P18 (parameter type not determined), 0A000, ...
Result<StatementPtr> Analyze(std::string_view sql, const AnalyzeContext& context);

// The sequences that the DEFAULTs of a table's columns name, each with its column. Runs as Analyze does.
struct DefaultSequence {
  uint32_t column;
  ObjectId sequence;
};
Result<std::vector<DefaultSequence>> SequencesOfDefaults(const catalog::Table& table, const AnalyzeContext& context);

// "EXPLAIN" text, a line each.
std::vector<std::string> Explain(const Plan& plan);

}  // namespace sisal::sql
