#include "completion.h"

#include <algorithm>

#include "sql_help.h"

namespace sisal::cli {
namespace {
constexpr std::chrono::milliseconds kTimeout{1000};
constexpr std::chrono::seconds kFreshFor{30};

std::string Upper(std::string_view text) {
  std::string upper(text);
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return upper;
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

// Words of letters, digits, '_', '.', '\\', '"'; all else parts them.
std::vector<std::string> Words(std::string_view text) {
  std::vector<std::string> words;
  bool in_word = false;
  for (const char c : text) {
    const bool part = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                      c == '.' || c == '\\' || c == '"' || (static_cast<unsigned char>(c) & 0x80) != 0;
    if (part && !in_word) words.emplace_back();
    if (part) words.back().push_back(c);
    in_word = part;
  }
  return words;
}

// A name that SQL would fold or not take is offered in quotes.
std::string AsTyped(const std::string& name) {
  const bool plain = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           (static_cast<unsigned char>(c) & 0x80) != 0;
  });
  return plain ? name : "\"" + name + "\"";
}

class Collector {
 public:
  explicit Collector(std::string_view word) : word_(word), lower_word_(Lower(word)) {}

  void AddName(const std::string& name) {
    const std::string typed = AsTyped(name);
    if (typed.starts_with(word_) || typed.starts_with(lower_word_)) candidates_.push_back(typed);
  }
  void AddNames(const std::vector<std::string>& names) {
    for (const std::string& name : names) AddName(name);
  }
  // In the case that was begun with.
  void AddKeywords() {
    if (word_.empty()) return;  // all of them are no help
    const std::string upper = Upper(word_);
    const bool as_lower = word_.back() >= 'a' && word_.back() <= 'z';
    for (const std::string_view keyword : SqlKeywords()) {
      if (keyword.starts_with(upper)) candidates_.push_back(as_lower ? Lower(keyword) : std::string(keyword));
    }
  }
  void AddMetaCommands() {
    for (const std::string_view name : MetaCommandNames()) {
      if (name.starts_with(word_)) candidates_.emplace_back(name);
    }
  }
  std::vector<std::string> Take() {
    std::sort(candidates_.begin(), candidates_.end());
    candidates_.erase(std::unique(candidates_.begin(), candidates_.end()), candidates_.end());
    return std::move(candidates_);
  }

 private:
  const std::string_view word_;
  const std::string lower_word_;
  std::vector<std::string> candidates_;
};

bool ExpectsTable(const std::vector<std::string>& words) {
  if (words.empty()) return false;
  const std::string last = Upper(words.back());
  const std::string before = words.size() > 1 ? Upper(words[words.size() - 2]) : "";
  if (last == "TABLE") return before == "DROP" || before == "ALTER" || words.size() == 1;
  if (last == "EXISTS") return before == "IF";
  return last == "FROM" || last == "JOIN" || last == "INTO" || last == "UPDATE" || last == "\\D" || last == "\\DT" ||
         last == "\\COPY";
}
}  // namespace

std::vector<std::string> Candidates(std::string_view before, std::string_view word, const SchemaNames& names) {
  Collector collector(word);
  const std::vector<std::string> words = Words(before);
  if (word.starts_with("\\")) {
    collector.AddMetaCommands();
    return collector.Take();
  }
  if (ExpectsTable(words)) {
    collector.AddNames(names.tables);
    return collector.Take();
  }
  if (const size_t dot = word.rfind('.'); dot != std::string_view::npos) {
    const auto table = names.table_columns.find(Lower(word.substr(0, dot)));
    if (table != names.table_columns.end()) {
      for (const std::string& column : table->second) collector.AddName(table->first + "." + column);
    }
    collector.AddNames(names.tables);
    return collector.Take();
  }
  // Columns of the tables that have been named; before FROM is typed, of all.
  bool named = false;
  for (const std::string& each : words) {
    const auto table = names.table_columns.find(Lower(each));
    if (table == names.table_columns.end()) continue;
    collector.AddNames(table->second);
    named = true;
  }
  if (!named && !words.empty() && !word.empty()) {
    for (const auto& [table, columns] : names.table_columns) collector.AddNames(columns);
  }
  collector.AddKeywords();
  return collector.Take();
}

const SchemaNames& SchemaCache::Names() {
  const auto now = std::chrono::steady_clock::now();
  if (!loaded_ || now - loaded_at_ > kFreshFor) {
    Load();
    loaded_ = true;
    loaded_at_ = now;
  }
  return names_;
}

void SchemaCache::Load() {
  names_ = SchemaNames();
  CollectedRows found;
  const auto outcome = client_.RunAside(
      "SELECT table_schema, table_name, column_name FROM information_schema.columns "
      "ORDER BY table_schema, table_name, ordinal_position",
      found, kTimeout);
  if (!outcome.ok()) return;
  for (const std::vector<Cell>& row : found.rows) {
    const std::string table = row[0].text == "public" ? row[1].text : row[0].text + "." + row[1].text;
    std::vector<std::string>& columns = names_.table_columns[table];
    if (columns.empty()) names_.tables.push_back(table);
    columns.push_back(row[2].text);
  }
}
}  // namespace sisal::cli
