#include "describe.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include "error_text.h"

namespace sisal::cli {
namespace {
using Rows = std::vector<std::vector<Cell>>;

// The rows of a query of ours; without a value the error has been reported.
std::optional<Rows> Fetch(Shell& shell, const std::string& sql) {
  CollectedRows collected;
  const Result<Client::Outcome> outcome = shell.client().Run(sql, collected);
  if (!outcome.ok()) {
    shell.ReportError(outcome.error(), sql);
    return std::nullopt;
  }
  return std::move(collected.rows);
}

std::string Literal(std::string_view text) {
  std::string literal = "'";
  for (const char c : text) literal.append(c == '\'' ? 2 : 1, c);
  return literal + "'";
}

// "table" for BASE TABLE, as psql words it.
std::string KindOf(std::string_view table_type) { return table_type == "VIEW" ? "view" : "table"; }

DisplayOptions Titled(Shell& shell, std::string title, bool row_count) {
  DisplayOptions display = shell.settings().display;
  display.title = std::move(title);
  display.null_text.clear();
  display.row_count = row_count;
  return display;
}

struct TableName {
  std::string schema, name, kind;
};

std::optional<std::vector<TableName>> MatchingTables(Shell& shell, std::string_view pattern) {
  const std::optional<Rows> rows = Fetch(shell,
                                         "SELECT table_schema, table_name, table_type FROM information_schema.tables "
                                         "ORDER BY table_schema, table_name");
  if (!rows.has_value()) return std::nullopt;
  const NamePattern wanted(pattern);
  std::vector<TableName> tables;
  for (const std::vector<Cell>& row : *rows) {
    if (wanted.Matches(row[0].text, row[1].text)) tables.push_back({row[0].text, row[1].text, KindOf(row[2].text)});
  }
  return tables;
}

// Schema and name, then what \d shows of each.
std::optional<Rows> MatchingSequences(Shell& shell, std::string_view pattern) {
  std::optional<Rows> rows =
      Fetch(shell,
            "SELECT schemaname, sequencename, data_type, start_value, min_value, max_value, increment_by, "
            "CASE WHEN cycle THEN 'yes' ELSE 'no' END, cache_size FROM pg_catalog.pg_sequences "
            "ORDER BY schemaname, sequencename");
  if (!rows.has_value()) return std::nullopt;
  const NamePattern wanted(pattern);
  std::erase_if(*rows, [&](const std::vector<Cell>& row) { return !wanted.Matches(row[0].text, row[1].text); });
  return rows;
}

// The exact type of each column, which information_schema leaves without length and precision; empty where the
// server does not tell.
std::vector<std::string> ColumnTypeNames(Shell& shell, const TableName& table) {
  const Result<v1::PrepareResponse> prepared =
      shell.client().Prepare("SELECT * FROM " + QuoteIdentifier(table.schema) + "." + QuoteIdentifier(table.name));
  std::vector<std::string> names;
  if (!prepared.ok()) return names;  // for example a table of the open transaction
  for (const v1::ColumnType& column : prepared->header().columns()) names.push_back(column.sql_type());
  return names;
}

// From "CREATE UNIQUE INDEX t_pkey ON public.t USING btree (id)": whether it is unique, and what follows USING.
struct IndexForm {
  bool unique = false;
  std::string method_and_columns;
};
IndexForm ReadIndexDefinition(std::string_view definition) {
  const size_t using_at = definition.find(" USING ");
  return {definition.starts_with("CREATE UNIQUE"),
          std::string(using_at == std::string_view::npos ? definition : definition.substr(using_at + 7))};
}

bool PrintIndexes(Shell& shell, const TableName& table) {
  const std::optional<Rows> indexes =
      Fetch(shell, "SELECT indexname, indexdef FROM pg_catalog.pg_indexes WHERE schemaname = " + Literal(table.schema) +
                       " AND tablename = " + Literal(table.name) + " ORDER BY indexname");
  if (!indexes.has_value() || indexes->empty()) return indexes.has_value();
  const std::optional<Rows> constraints = Fetch(
      shell, "SELECT constraint_name, constraint_type FROM information_schema.table_constraints WHERE table_schema = " +
                 Literal(table.schema) + " AND table_name = " + Literal(table.name));
  if (!constraints.has_value()) return false;
  std::string text = "Indexes:\n";
  for (const std::vector<Cell>& index : *indexes) {
    const IndexForm form = ReadIndexDefinition(index[1].text);
    std::string kind = form.unique ? "UNIQUE, " : "";
    for (const std::vector<Cell>& constraint : *constraints) {
      if (constraint[0].text == index[0].text) {
        kind = constraint[1].text == "PRIMARY KEY" ? "PRIMARY KEY, " : "UNIQUE CONSTRAINT, ";
      }
    }
    text += "    \"" + index[0].text + "\" " + kind + form.method_and_columns + "\n";
  }
  shell.PrintText(text);
  return true;
}

bool PrintChecks(Shell& shell, const TableName& table) {
  const std::optional<Rows> checks = Fetch(
      shell,
      "SELECT constraint_name, check_clause FROM information_schema.check_constraints WHERE constraint_schema = " +
          Literal(table.schema) + " AND table_name = " + Literal(table.name) + " ORDER BY constraint_name");
  if (!checks.has_value() || checks->empty()) return checks.has_value();
  std::string text = "Check constraints:\n";
  for (const std::vector<Cell>& check : *checks) {
    text += "    \"" + check[0].text + "\" CHECK (" + check[1].text + ")\n";
  }
  shell.PrintText(text);
  return true;
}

// "ALWAYS" as \d shows it.
std::string IdentityText(const std::string& generation) {
  return generation == "ALWAYS" ? "generated always as identity" : "generated by default as identity";
}

bool PrintForeignKeys(Shell& shell, const TableName& table) {
  const std::optional<Rows> keys = Fetch(shell,
                                         "SELECT constraint_name, definition, table_name, referenced_table_name FROM "
                                         "information_schema.referential_constraints WHERE constraint_schema = " +
                                             Literal(table.schema) + " ORDER BY table_name, constraint_name");
  if (!keys.has_value()) return false;
  std::string own, others;
  for (const std::vector<Cell>& key : *keys) {
    const std::string constraint = "\"" + key[0].text + "\" " + key[1].text + "\n";
    if (key[2].text == table.name) own += "    " + constraint;
    if (key[3].text == table.name) others += "    TABLE \"" + key[2].text + "\" CONSTRAINT " + constraint;
  }
  if (!own.empty()) shell.PrintText("Foreign-key constraints:\n" + own);
  if (!others.empty()) shell.PrintText("Referenced by:\n" + others);
  return true;
}

Verdict PrintTableDescription(Shell& shell, const TableName& table) {
  const std::optional<Rows> columns =
      Fetch(shell,
            "SELECT column_name, data_type, is_nullable, column_default, identity_generation "
            "FROM information_schema.columns "
            "WHERE table_schema = " +
                Literal(table.schema) + " AND table_name = " + Literal(table.name) + " ORDER BY ordinal_position");
  if (!columns.has_value()) return Verdict::kFailed;
  const std::vector<std::string> types = ColumnTypeNames(shell, table);
  Rows rows;
  for (size_t i = 0; i < columns->size(); ++i) {
    const std::vector<Cell>& column = (*columns)[i];
    const bool exact = types.size() == columns->size() && !types[i].empty();
    rows.push_back({column[0], Cell{false, exact ? types[i] : column[1].text},
                    column[2].text == "NO" ? Cell{false, "not null"} : Cell{true, ""},
                    column[4].is_null ? column[3] : Cell{false, IdentityText(column[4].text)}});
  }
  const bool aligned = shell.settings().display.format == Format::kAligned;
  const std::string kind = table.kind == "view" ? "View" : "Table";
  std::string& text = *shell.output().text();
  shell.PrintTable({"Column", "Type", "Nullable", "Default"}, rows,
                   Titled(shell, kind + " \"" + table.schema + "." + table.name + "\"", /*row_count=*/false));
  if (!aligned) return Verdict::kGoOn;
  if (text.ends_with("\n\n")) text.pop_back();  // the indexes belong to the table
  if (!PrintIndexes(shell, table) || !PrintChecks(shell, table) || !PrintForeignKeys(shell, table))
    return Verdict::kFailed;
  text.append("\n");
  return Verdict::kGoOn;
}

Verdict NothingFound(Shell& shell, std::string_view what, std::string_view pattern) {
  if (pattern.empty()) return shell.Complain("Did not find any " + std::string(what) + "s.");
  return shell.Complain("Did not find any " + std::string(what) + " named \"" + std::string(pattern) + "\".");
}

Cell Text(std::string_view text) { return Cell{false, std::string(text)}; }
}  // namespace

Verdict ListTables(Shell& shell, std::string_view pattern, bool tables_only) {
  const std::optional<std::vector<TableName>> tables = MatchingTables(shell, pattern);
  if (!tables.has_value()) return Verdict::kFailed;
  Rows rows;
  for (const TableName& table : *tables) {
    if (!tables_only || table.kind == "table") rows.push_back({Text(table.schema), Text(table.name), Text(table.kind)});
  }
  if (!tables_only) {
    const std::optional<Rows> sequences = MatchingSequences(shell, pattern);
    if (!sequences.has_value()) return Verdict::kFailed;
    for (const std::vector<Cell>& sequence : *sequences) rows.push_back({sequence[0], sequence[1], Text("sequence")});
    std::stable_sort(rows.begin(), rows.end(), [](const std::vector<Cell>& a, const std::vector<Cell>& b) {
      return std::tie(a[0].text, a[1].text) < std::tie(b[0].text, b[1].text);
    });
  }
  if (rows.empty() && shell.settings().display.format == Format::kAligned) {
    NothingFound(shell, "relation", pattern);
    return pattern.empty() ? Verdict::kGoOn : Verdict::kFailed;  // an empty database is no error
  }
  shell.PrintTable({"Schema", "Name", "Type"}, rows, Titled(shell, "List of relations", /*row_count=*/true));
  return Verdict::kGoOn;
}

Verdict ListIndexes(Shell& shell, std::string_view pattern) {
  const std::optional<Rows> all = Fetch(shell,
                                        "SELECT schemaname, indexname, tablename FROM pg_catalog.pg_indexes "
                                        "ORDER BY schemaname, indexname");
  if (!all.has_value()) return Verdict::kFailed;
  const NamePattern wanted(pattern);
  Rows rows;
  for (const std::vector<Cell>& row : *all) {
    if (wanted.Matches(row[0].text, row[1].text)) rows.push_back(row);
  }
  shell.PrintTable({"Schema", "Name", "Table"}, rows, Titled(shell, "List of indexes", /*row_count=*/true));
  return Verdict::kGoOn;
}

Verdict DescribeTable(Shell& shell, std::string_view pattern) {
  const std::optional<std::vector<TableName>> tables = MatchingTables(shell, pattern);
  if (!tables.has_value()) return Verdict::kFailed;
  const std::optional<Rows> sequences = MatchingSequences(shell, pattern);
  if (!sequences.has_value()) return Verdict::kFailed;
  if (tables->empty() && sequences->empty()) return NothingFound(shell, "relation", pattern);
  for (const TableName& table : *tables) {
    if (const Verdict verdict = PrintTableDescription(shell, table); verdict != Verdict::kGoOn) return verdict;
  }
  for (const std::vector<Cell>& sequence : *sequences) {
    shell.PrintTable({"Type", "Start", "Minimum", "Maximum", "Increment", "Cycles?", "Cache"},
                     {std::vector<Cell>(sequence.begin() + 2, sequence.end())},
                     Titled(shell, "Sequence \"" + sequence[0].text + "." + sequence[1].text + "\"", false));
  }
  return Verdict::kGoOn;
}

NamePattern::NamePattern(std::string_view text) {
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == '.' && !quoted && schema_.empty()) {
      schema_ = std::exchange(name_, std::string());
    } else {
      name_.push_back(!quoted && c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
    }
  }
}

bool NamePattern::Matches(std::string_view schema, std::string_view name) const {
  const bool system = schema == "pg_catalog" || schema == "information_schema";
  if (schema_.empty() ? system : !GlobMatches(schema_, schema)) return false;
  return name_.empty() || GlobMatches(name_, name);
}

bool GlobMatches(std::string_view pattern, std::string_view text) {
  // After a mismatch the last '*' takes one character more; earlier ones need not, as they matched greedily enough.
  size_t p = 0;
  size_t t = 0;
  size_t star = std::string_view::npos;
  size_t star_text = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::string QuoteIdentifier(std::string_view name) {
  // Always quoted: a list of the reserved words here would age.
  std::string quoted = "\"";
  for (const char c : name) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + "\"";
}
}  // namespace sisal::cli
