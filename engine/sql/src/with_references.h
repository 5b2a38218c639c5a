// Which queries of a WITH RECURSIVE refer to which, before anything is bound.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "node.h"
#include "sisal/base/status.h"

namespace sisal::sql {

// Where in a recursive term a reference stands: only kAllowed is one that a recursion can follow.
enum class RecursionPlace : uint8_t { kAllowed, kNonRecursiveTerm, kSubquery, kOuterJoin, kIntersect, kExcept };

// Walks a tree and calls `visit` for each relation in it that may be a WITH query from around it: a name without a
// schema that no WITH of the tree itself takes. Stops at the first error.
class ReferenceWalker {
 public:
  using Visit = std::function<Status(const PgQuery__RangeVar&, RecursionPlace)>;
  explicit ReferenceWalker(Visit visit) : visit_(std::move(visit)) {}
  Status Walk(const Node* node, RecursionPlace place);
  Status Walk(const PgQuery__SelectStmt& query, RecursionPlace place);

 private:
  Status WalkMessage(const ProtobufCMessage* message);
  Status WalkFields(const ProtobufCMessage* message);
  Status WalkAt(const ProtobufCMessage* message, RecursionPlace place);
  Status WalkSelect(const PgQuery__SelectStmt& query);
  Status WalkSelectBody(const PgQuery__SelectStmt& query);
  Status WalkJoin(const PgQuery__JoinExpr& join);

  Visit visit_;
  RecursionPlace place_ = RecursionPlace::kAllowed;
  std::vector<std::string_view> hidden_;  // names that inner WITH clauses take
};

}  // namespace sisal::sql
