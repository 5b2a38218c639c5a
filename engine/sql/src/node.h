// Short names for libpg_query's tree, and the few things that one asks of any node.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "pg_query/pg_query.pb-c.h"

namespace sisal::sql {

using Node = PgQuery__Node;
using NodeList = std::span<Node* const>;

inline bool IsString(const Node* node) { return node != nullptr && node->node_case == PG_QUERY__NODE__NODE_STRING; }
inline bool IsStar(const Node* node) { return node != nullptr && node->node_case == PG_QUERY__NODE__NODE_A_STAR; }
inline std::string_view StringOf(const Node* node) {
  return IsString(node) && node->string->sval != nullptr ? std::string_view(node->string->sval) : std::string_view();
}
// An absent string arrives as an empty one.
inline std::string_view View(const char* text) { return text == nullptr ? std::string_view() : std::string_view(text); }
// The last part of a qualified name.
inline std::string_view LastName(NodeList names) { return names.empty() ? std::string_view() : StringOf(names.back()); }

// Byte offset in the text at which an expression starts, as PostgreSQL's exprLocation tells it; -1: not known.
int32_t LocationOf(const Node* node);

}  // namespace sisal::sql
