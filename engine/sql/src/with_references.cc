#include "with_references.h"

#include <algorithm>

namespace sisal::sql {

Status ReferenceWalker::Walk(const Node* node, RecursionPlace place) {
  return node == nullptr ? Status() : WalkAt(&node->base, place);
}

Status ReferenceWalker::Walk(const PgQuery__SelectStmt& query, RecursionPlace place) {
  return WalkAt(&query.base, place);
}

Status ReferenceWalker::WalkAt(const ProtobufCMessage* message, RecursionPlace place) {
  const RecursionPlace before = place_;
  place_ = place;
  Status walked = WalkMessage(message);
  place_ = before;
  return walked;
}

Status ReferenceWalker::WalkMessage(const ProtobufCMessage* message) {
  if (message == nullptr) return Status();
  const ProtobufCMessageDescriptor* kind = message->descriptor;
  if (kind == &pg_query__range_var__descriptor) {
    const auto& relation = *reinterpret_cast<const PgQuery__RangeVar*>(message);
    const std::string_view name = View(relation.relname);
    if (!View(relation.schemaname).empty() || std::find(hidden_.begin(), hidden_.end(), name) != hidden_.end()) {
      return Status();
    }
    return visit_(relation, place_);
  }
  if (kind == &pg_query__select_stmt__descriptor) {
    return WalkSelect(*reinterpret_cast<const PgQuery__SelectStmt*>(message));
  }
  if (kind == &pg_query__join_expr__descriptor) {
    return WalkJoin(*reinterpret_cast<const PgQuery__JoinExpr*>(message));
  }
  if (kind == &pg_query__sub_link__descriptor) {
    const auto& link = *reinterpret_cast<const PgQuery__SubLink*>(message);
    SISAL_RETURN_IF_ERROR(Walk(link.subselect, RecursionPlace::kSubquery));
    return Walk(link.testexpr, place_);
  }
  // Walked with the statement that it belongs to.
  if (kind == &pg_query__with_clause__descriptor) return Status();
  return WalkFields(message);
}

// All messages below, as the generated description of the type tells where they lie.
Status ReferenceWalker::WalkFields(const ProtobufCMessage* message) {
  const char* base = reinterpret_cast<const char*>(message);
  const ProtobufCMessageDescriptor& kind = *message->descriptor;
  for (unsigned i = 0; i < kind.n_fields; ++i) {
    const ProtobufCFieldDescriptor& field = kind.fields[i];
    if (field.type != PROTOBUF_C_TYPE_MESSAGE) continue;
    const char* at = base + field.offset;
    if (field.label == PROTOBUF_C_LABEL_REPEATED) {
      const size_t count = *reinterpret_cast<const size_t*>(base + field.quantifier_offset);
      const auto* items = *reinterpret_cast<const ProtobufCMessage* const* const*>(at);
      for (size_t k = 0; k < count; ++k) SISAL_RETURN_IF_ERROR(WalkMessage(items[k]));
      continue;
    }
    const bool one_of = (field.flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0;
    if (one_of && *reinterpret_cast<const uint32_t*>(base + field.quantifier_offset) != field.id) continue;
    SISAL_RETURN_IF_ERROR(WalkMessage(*reinterpret_cast<const ProtobufCMessage* const*>(at)));
  }
  return Status();
}

Status ReferenceWalker::WalkSelect(const PgQuery__SelectStmt& query) {
  const size_t outer_names = hidden_.size();
  if (query.with_clause != nullptr) {
    const NodeList items(query.with_clause->ctes, query.with_clause->n_ctes);
    const auto hide = [&](const Node* item) { hidden_.push_back(View(item->common_table_expr->ctename)); };
    if (query.with_clause->recursive) std::for_each(items.begin(), items.end(), hide);
    for (const Node* item : items) {
      SISAL_RETURN_IF_ERROR(Walk(item->common_table_expr->ctequery, place_));
      if (!query.with_clause->recursive) hide(item);
    }
  }
  SISAL_RETURN_IF_ERROR(WalkSelectBody(query));
  hidden_.resize(outer_names);
  return Status();
}

Status ReferenceWalker::WalkSelectBody(const PgQuery__SelectStmt& query) {
  const bool intersects = query.op == PG_QUERY__SET_OPERATION__SETOP_INTERSECT;
  const bool excepts = query.op == PG_QUERY__SET_OPERATION__SETOP_EXCEPT;
  if (place_ != RecursionPlace::kAllowed || (!intersects && !excepts)) return WalkFields(&query.base);
  const RecursionPlace counted = intersects ? RecursionPlace::kIntersect : RecursionPlace::kExcept;
  const RecursionPlace left = query.all ? counted : RecursionPlace::kAllowed;
  SISAL_RETURN_IF_ERROR(Walk(*query.larg, left));
  SISAL_RETURN_IF_ERROR(Walk(*query.rarg, excepts ? counted : left));
  for (const Node* key : NodeList(query.sort_clause, query.n_sort_clause)) {
    SISAL_RETURN_IF_ERROR(Walk(key, place_));
  }
  SISAL_RETURN_IF_ERROR(Walk(query.limit_offset, place_));
  return Walk(query.limit_count, place_);
}

Status ReferenceWalker::WalkJoin(const PgQuery__JoinExpr& join) {
  const auto place_if = [&](bool nullable) {
    return nullable && place_ == RecursionPlace::kAllowed ? RecursionPlace::kOuterJoin : place_;
  };
  const bool full = join.jointype == PG_QUERY__JOIN_TYPE__JOIN_FULL;
  SISAL_RETURN_IF_ERROR(Walk(join.larg, place_if(full || join.jointype == PG_QUERY__JOIN_TYPE__JOIN_RIGHT)));
  SISAL_RETURN_IF_ERROR(Walk(join.rarg, place_if(full || join.jointype == PG_QUERY__JOIN_TYPE__JOIN_LEFT)));
  return Walk(join.quals, place_);
}

}  // namespace sisal::sql
