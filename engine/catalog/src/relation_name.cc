#include "sisal/catalog/relation_name.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace sisal::catalog {
namespace {

constexpr size_t kNameBytesMax = 63;

bool IsBlank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

Error InvalidName() { return Error("42602", "invalid name syntax"); }

// Reads the next identifier and moves `at` behind it. False: there is none.
bool ReadIdentifier(std::string_view text, size_t& at, std::string& identifier) {
  identifier.clear();
  if (at < text.size() && text[at] == '"') {
    for (++at;; ++at) {
      if (at >= text.size()) return false;
      if (text[at] != '"') {
        identifier += text[at];
      } else if (at + 1 < text.size() && text[at + 1] == '"') {
        identifier += text[++at];
      } else {
        ++at;
        break;
      }
    }
  } else {
    for (; at < text.size() && text[at] != '.' && !IsBlank(text[at]); ++at) {
      const char c = text[at];
      identifier += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    if (identifier.empty()) return false;
  }
  if (identifier.size() > kNameBytesMax) {
    size_t end = kNameBytesMax;
    while (end > 0 && (identifier[end] & 0xC0) == 0x80) --end;
    identifier.resize(end);
  }
  return true;
}

std::string Qualified(const RelationName& name) { return (name.schema.empty() ? "" : name.schema + ".") + name.name; }

// Calls `find` with each schema that the name may mean, until it finds something.
template <typename Find>
auto FindIn(std::span<const std::string> search_path, const RelationName& name, Find find) {
  if (!name.schema.empty()) return find(name.schema);
  for (const std::string& schema : search_path) {
    if (auto found = find(schema)) return found;
  }
  return decltype(find(name.schema))();
}

Error NoSuchRelation(const Root& root, std::span<const std::string> search_path, const RelationName& name,
                     const char* wanted) {
  const std::string& schema = name.schema;
  if (!schema.empty() && schema != "public" && schema != "pg_catalog" && schema != "information_schema") {
    return Error("3F000", "schema \"" + schema + "\" does not exist");
  }
  const bool other =
      FindIn(search_path, name, [&](const std::string& in) { return root.RelationExists(in, name.name); });
  if (other) return Error("42809", "\"" + name.name + "\" is not a " + wanted);
  return Error("42P01", "relation \"" + Qualified(name) + "\" does not exist");
}

}  // namespace

Result<RelationName> ReadRelationName(std::string_view text) {
  const bool number =
      !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (number) return Error("0A000", "a relation given by its object identifier is not supported");
  std::vector<std::string> parts;
  size_t at = 0;
  const auto skip_blanks = [&] {
    while (at < text.size() && IsBlank(text[at])) ++at;
  };
  for (;;) {
    skip_blanks();
    if (!ReadIdentifier(text, at, parts.emplace_back())) return InvalidName();
    skip_blanks();
    if (at == text.size()) break;
    if (text[at++] != '.') return InvalidName();
  }
  std::string dotted;
  for (const std::string& part : parts) dotted += (dotted.empty() ? "" : ".") + part;
  if (parts.size() > 3) {
    return Error("42601", "improper relation name (too many dotted names): " + dotted);
  }
  if (parts.size() == 3) return Error("0A000", "cross-database references are not implemented: \"" + dotted + "\"");
  if (parts.size() == 1) return RelationName{"", std::move(parts[0])};
  return RelationName{std::move(parts[0]), std::move(parts[1])};
}

Result<SequencePtr> FindSequenceNamed(const Root& root, std::span<const std::string> search_path,
                                      std::string_view text) {
  SISAL_ASSIGN_OR_RETURN(const RelationName name, ReadRelationName(text));
  SequencePtr sequence =
      FindIn(search_path, name, [&](const std::string& schema) { return root.FindSequence(schema, name.name); });
  if (sequence == nullptr) return NoSuchRelation(root, search_path, name, "sequence");
  return sequence;
}

Result<TablePtr> FindTableNamed(const Root& root, std::span<const std::string> search_path, std::string_view text) {
  SISAL_ASSIGN_OR_RETURN(const RelationName name, ReadRelationName(text));
  TablePtr table =
      FindIn(search_path, name, [&](const std::string& schema) { return root.FindTable(schema, name.name); });
  if (table == nullptr) return NoSuchRelation(root, search_path, name, "table");
  return table;
}

std::string QuotedName(std::string_view name) {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  if (!name.empty() && !(name[0] >= '0' && name[0] <= '9') && std::all_of(name.begin(), name.end(), plain)) {
    return std::string(name);
  }
  std::string quoted = "\"";
  for (const char c : name) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + "\"";
}

}  // namespace sisal::catalog
