#include "sql_help.h"

#include <algorithm>
#include <array>

namespace sisal::cli {
namespace {
struct Entry {
  std::string_view statement;
  std::string_view description;
  std::string_view form;
};

constexpr Entry kEntries[] = {
    {"BEGIN", "start a transaction",
     "BEGIN [ WORK | TRANSACTION ] [ ISOLATION LEVEL { READ COMMITTED | REPEATABLE READ } ]\n"
     "      [ READ WRITE | READ ONLY ]"},
    {"COMMIT", "commit the transaction", "COMMIT [ WORK | TRANSACTION ] [ AND [ NO ] CHAIN ]"},
    {"CREATE INDEX", "define a new index",
     "CREATE [ UNIQUE ] INDEX [ [ IF NOT EXISTS ] name ] ON table (column [, ...])"},
    {"CREATE TABLE", "define a new table",
     "CREATE TABLE [ IF NOT EXISTS ] name (\n"
     "    column type [ NOT NULL ] [ DEFAULT expression ] [ PRIMARY KEY ] [ UNIQUE ]  [, ...]\n"
     "    [, PRIMARY KEY (column [, ...]) ] [, UNIQUE (column [, ...]) ]\n"
     ")"},
    {"DELETE", "delete rows of a table", "DELETE FROM table [ WHERE condition ] [ RETURNING expression [, ...] ]"},
    {"DROP INDEX", "remove an index", "DROP INDEX [ IF EXISTS ] name [, ...]"},
    {"DROP TABLE", "remove a table", "DROP TABLE [ IF EXISTS ] name [, ...]"},
    {"EXPLAIN", "show the plan of a statement", "EXPLAIN statement"},
    {"INSERT", "create new rows in a table",
     "INSERT INTO table [ (column [, ...]) ]\n"
     "    { VALUES (expression [, ...]) [, ...] | query | DEFAULT VALUES }\n"
     "    [ ON CONFLICT [ (column [, ...]) ] { DO NOTHING | DO UPDATE SET column = expression [, ...] } ]\n"
     "    [ RETURNING expression [, ...] ]"},
    {"RELEASE", "forget a savepoint", "RELEASE [ SAVEPOINT ] name"},
    {"ROLLBACK", "abort the transaction, or go back to a savepoint",
     "ROLLBACK [ WORK | TRANSACTION ] [ TO [ SAVEPOINT ] name ]"},
    {"SAVEPOINT", "mark a point in the transaction", "SAVEPOINT name"},
    {"SELECT", "retrieve rows",
     "[ WITH name AS (query) [, ...] ]\n"
     "SELECT [ DISTINCT ] expression [ AS name ] [, ...]\n"
     "    [ FROM table [ [ LEFT | RIGHT | FULL | CROSS ] JOIN table ON condition ... ] ]\n"
     "    [ WHERE condition ] [ GROUP BY expression [, ...] ] [ HAVING condition ]\n"
     "    [ { UNION | INTERSECT | EXCEPT } [ ALL ] query ]\n"
     "    [ ORDER BY expression [ ASC | DESC ] [ NULLS FIRST | NULLS LAST ] [, ...] ]\n"
     "    [ LIMIT count ] [ OFFSET start ] [ FOR { UPDATE | SHARE } ]"},
    {"SET LOCAL", "change a setting until the transaction ends", "SET LOCAL name = value"},
    {"SHOW", "show a setting", "SHOW name"},
    {"TRUNCATE", "remove all rows of a table", "TRUNCATE [ TABLE ] name [, ...]"},
    {"UPDATE", "update rows of a table",
     "UPDATE table SET column = expression [, ...] [ WHERE condition ] [ RETURNING expression [, ...] ]"},
    {"VALUES", "compute rows", "VALUES (expression [, ...]) [, ...]"},
};

constexpr std::string_view kMetaCommandHelp =
    R"(General
  \q                     quit, as do quit and exit alone on a line
  \copy T FROM 'F' ...   import a CSV file into table T, or T (columns), in one transaction
  \copy T TO 'F' ...     export table T, T (columns) or (query) to a CSV file
                         options: csv, header [match], delimiter 'C', null 'TEXT'; F: a file, stdin or stdout
  \timing [on|off]       show how long each statement took

Help
  \? or \h [STATEMENT]   this list; the forms of SQL statements

Statement buffer
  \g, \gx                run the statement, or the last one again; \gx shows it expanded
  \e                     edit the statement, or the last one, in $EDITOR
  \p, \r                 show the statement that is being typed; forget it
  \i FILE                run the statements of a file
  \echo TEXT             write text to the output

Tables
  \d                     list tables and views
  \d NAME                describe a table
  \dt [PATTERN]          list tables (* and ? match)
  \di [PATTERN]          list indexes

Display
  \x [on|off]            expanded display: one line for each value
  \pset null TEXT        what stands for NULL in aligned output
  \pset format F         aligned, csv or json
  \pset                  show these settings
)";

constexpr auto kKeywords = std::to_array<std::string_view>({
    "ABORT",
    "ALL",
    "AND",
    "AS",
    "ASC",
    "AVG",
    "BEGIN",
    "BETWEEN",
    "BIGINT",
    "BOOLEAN",
    "BY",
    "BYTEA",
    "CASE",
    "CAST",
    "CHARACTER VARYING",
    "COALESCE",
    "COMMIT",
    "COUNT",
    "CREATE TABLE",
    "CURRENT_DATE",
    "CURRENT_TIMESTAMP",
    "DATE",
    "DEFAULT",
    "DELETE FROM",
    "DESC",
    "DISTINCT",
    "DOUBLE PRECISION",
    "DROP TABLE",
    "ELSE",
    "END",
    "EXISTS",
    "FALSE",
    "FROM",
    "GROUP BY",
    "HAVING",
    "IF EXISTS",
    "IF NOT EXISTS",
    "IN",
    "INSERT INTO",
    "INTEGER",
    "IS NOT NULL",
    "IS NULL",
    "ISOLATION LEVEL",
    "JOIN",
    "LIKE",
    "LIMIT",
    "MAX",
    "MIN",
    "NOT",
    "NOT NULL",
    "NULL",
    "NULLIF",
    "NULLS FIRST",
    "NULLS LAST",
    "NUMERIC",
    "OFFSET",
    "ON",
    "OR",
    "ORDER BY",
    "PRIMARY KEY",
    "READ ONLY",
    "READ WRITE",
    "REAL",
    "RETURNING",
    "ROLLBACK",
    "SELECT",
    "SERIALIZABLE",
    "SET",
    "SMALLINT",
    "START TRANSACTION",
    "SUM",
    "TABLE",
    "TEXT",
    "THEN",
    "TIMESTAMP",
    "TIMESTAMPTZ",
    "TRANSACTION",
    "TRUE",
    "UNIQUE",
    "UPDATE",
    "UUID",
    "VALUES",
    "VARCHAR",
    "WHEN",
    "WHERE",
});

constexpr auto kMetaCommandNames = std::to_array<std::string_view>({
    "\\?",
    "\\copy",
    "\\d",
    "\\di",
    "\\dt",
    "\\e",
    "\\echo",
    "\\g",
    "\\gx",
    "\\h",
    "\\i",
    "\\p",
    "\\pset",
    "\\q",
    "\\r",
    "\\timing",
    "\\x",
});
}  // namespace

std::string SqlHelpText(std::string_view statement) {
  std::string wanted;  // upper case, one blank between words
  for (const char c : statement) {
    if (c != ' ' || (!wanted.empty() && wanted.back() != ' ')) {
      wanted.push_back(c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c);
    }
  }
  std::string text;
  if (wanted.empty()) {
    text = "Available help:\n";
    for (const Entry& entry : kEntries) {
      text.append("  ").append(entry.statement).append(16 - entry.statement.size(), ' ');
      text.append(entry.description).append("\n");
    }
    return text + "\\h STATEMENT shows the form of one.\n";
  }
  for (const Entry& entry : kEntries) {
    if (!entry.statement.starts_with(wanted)) continue;
    text.append("Command:     ").append(entry.statement).append("\nDescription: ").append(entry.description);
    text.append("\nSyntax:\n").append(entry.form).append("\n\n");
  }
  return text;
}

std::string_view MetaCommandHelp() { return kMetaCommandHelp; }
std::span<const std::string_view> SqlKeywords() { return kKeywords; }
std::span<const std::string_view> MetaCommandNames() { return kMetaCommandNames; }
}  // namespace sisal::cli
