// Which keys a scan visits: conditions on key columns become bounds of the row tree or of an index.
#include <algorithm>

#include "binder.h"

namespace sisal::sql {
namespace {

struct KeyColumn {
  uint32_t column = 0;
  type::SortOrder order = type::SortOrder::kAscending;
  bool nulls_first = false;
};

// A conjunct that compares a column of the table with values known before the scan.
struct Restriction {
  enum class Kind : uint8_t { kEqual, kIn, kLower, kUpper };
  Kind kind;
  uint32_t column;
  bool inclusive = true;
  std::vector<const Expr*> values;  // of the column's type; one, but for kIn
  size_t conjunct;                  // which conjunct it stands for
};

struct Path {
  std::optional<uint32_t> index;
  std::vector<KeyColumn> key;
  std::vector<const Restriction*> equal;  // on the first key columns
  const Restriction* lower = nullptr;     // on the next one
  const Restriction* upper = nullptr;
  bool unique = false;
  bool gives_order = false;
  bool backward = false;
  int score = 0;
};

// An IN list beyond this is cheaper as a filter than as so many ranges.
constexpr size_t kBoundsMax = 1000;

bool KnownBeforeScan(const Expr* expr) {
  bool known = true;
  VisitExpr(expr, [&](const Expr* part) { known &= part->kind != ExprKind::kColumn && part->subplan == nullptr; });
  return known && !IsVolatile(expr);
}

int64_t LargestOf(TypeId id) {
  return id == TypeId::kSmallint ? INT16_MAX : id == TypeId::kInteger ? INT32_MAX : INT64_MAX;
}

// The column itself, or as text where it is varchar: the bytes are the same.
const Expr* BareColumn(const Expr* expr, const Leaf& leaf) {
  if (expr->kind == ExprKind::kCast && expr->cast->kernel == nullptr && expr->type.id == TypeId::kText &&
      expr->args[0]->type.id == TypeId::kVarchar) {
    expr = expr->args[0];
  }
  const bool ours = expr->kind == ExprKind::kColumn && expr->index >= leaf.first_id &&
                    expr->index < leaf.first_id + leaf.column_count;
  return ours ? expr : nullptr;
}

}  // namespace

// `value` as a bound of a key column; nullptr: comparing keys could differ from the SQL comparison.
const Expr* Binder::BoundOf(const Expr* value, TypeId column) {
  if (!KnownBeforeScan(value)) return nullptr;
  const TypeId from = value->type.id;
  if (from == column) return value;
  const bool narrower = (type::IsIntegerType(from) && type::IsIntegerType(column)) ||
                        (from == TypeId::kReal && column == TypeId::kDouble);
  const function::Cast* cast = function::FindCast(from, column);
  const bool same_bytes =
      from == TypeId::kText && column == TypeId::kVarchar && cast != nullptr && cast->kernel == nullptr;
  const bool widens = narrower && cast != nullptr && cast->context == CastContext::kImplicit;
  if (same_bytes || widens) {
    Expr* converted = NewExpr(ExprKind::kCast, column, -1);
    converted->position = value->position;
    converted->cast = cast;
    converted->args = {value};
    return FoldCast(converted);
  }
  if (!type::IsIntegerType(from) || !type::IsIntegerType(column) || value->kind != ExprKind::kConstant ||
      value->constant.is_null()) {
    return nullptr;
  }
  const int64_t number = value->constant.as_int();
  if (number > LargestOf(column) || number < -LargestOf(column) - 1) return nullptr;
  Expr* narrowed = NewExpr(ExprKind::kConstant, column, -1);
  narrowed->position = value->position;
  narrowed->constant = value->constant;
  return narrowed;
}

namespace {

// "<" seen from the other side.
std::string_view Mirrored(std::string_view op) {
  return op == "<" ? ">" : op == "<=" ? ">=" : op == ">" ? "<" : op == ">=" ? "<=" : op;
}

std::optional<Restriction::Kind> KindOf(std::string_view op) {
  if (op == "=") return Restriction::Kind::kEqual;
  if (op == "<" || op == "<=") return Restriction::Kind::kUpper;
  if (op == ">" || op == ">=") return Restriction::Kind::kLower;
  return std::nullopt;
}

std::vector<Path> PathsOf(const catalog::Table& table) {
  std::vector<Path> paths(1);
  for (const uint32_t column : table.primary_key) paths[0].key.push_back({column, type::SortOrder::kAscending, false});
  paths[0].unique = !table.primary_key.empty();
  for (uint32_t i = 0; i < table.indexes.size(); ++i) {
    Path& path = paths.emplace_back();
    path.index = i;
    path.unique = table.indexes[i].unique;
    for (const catalog::IndexColumn& column : table.indexes[i].columns) {
      path.key.push_back({column.column, column.order, column.nulls_first});
    }
  }
  return paths;
}

void ApplyRestrictions(const std::vector<Restriction>& restrictions, Path& path) {
  using Kind = Restriction::Kind;
  const auto find = [&](uint32_t column, Kind kind) -> const Restriction* {
    for (const Restriction& r : restrictions) {
      if (r.column == column && r.kind == kind) return &r;
    }
    return nullptr;
  };
  size_t ranges = 1;
  for (const KeyColumn& key : path.key) {
    const Restriction* fixed = find(key.column, Kind::kEqual);
    if (fixed == nullptr) {
      fixed = find(key.column, Kind::kIn);
      if (fixed != nullptr && ranges * fixed->values.size() > kBoundsMax) fixed = nullptr;
    }
    if (fixed == nullptr) {
      path.lower = find(key.column, Kind::kLower);
      path.upper = find(key.column, Kind::kUpper);
      break;
    }
    ranges *= fixed->values.size();
    path.equal.push_back(fixed);
  }
}

// Does the path's key order, after the columns that one value fixes, begin with the wanted one?
bool GivesOrder(const std::vector<SortKey>& wanted, const Leaf& leaf, Path& path) {
  size_t at = 0;
  std::optional<bool> backward;
  const auto is_fixed = [&](uint32_t column) {
    return std::any_of(path.equal.begin(), path.equal.end(), [&](const Restriction* r) {
      return r->column == column && r->kind == Restriction::Kind::kEqual;
    });
  };
  for (const SortKey& key : wanted) {
    const Expr* column = BareColumn(key.expr, leaf);
    if (column == nullptr) return false;
    const uint32_t number = column->index - leaf.first_id;
    if (is_fixed(number)) continue;
    while (at < path.key.size() && is_fixed(path.key[at].column)) ++at;
    if (at == path.key.size()) {
      // Rows with one full key are one row, so what follows does not matter.
      if (!path.unique || path.index.has_value()) return false;
      break;
    }
    const KeyColumn& have = path.key[at];
    if (have.column != number) return false;
    const bool reversed = have.order != key.order;
    const catalog::Column& definition = leaf.table->columns[number];
    const auto& primary = leaf.table->primary_key;
    const bool not_null = definition.not_null || std::find(primary.begin(), primary.end(), number) != primary.end();
    const bool nulls_reversed = have.nulls_first != key.nulls_first;
    if (!not_null && nulls_reversed != reversed) return false;
    if (backward.has_value() && *backward != reversed) return false;
    backward = reversed;
    ++at;
  }
  path.backward = backward.value_or(false);
  return true;
}

void Score(Path& path) {
  for (const Restriction* r : path.equal) path.score += r->kind == Restriction::Kind::kEqual ? 100 : 90;
  if (path.lower != nullptr) path.score += 40;
  if (path.upper != nullptr) path.score += 40;
  if (path.unique && path.equal.size() == path.key.size() && !path.key.empty()) path.score += 10'000;
  const bool restricted = !path.equal.empty() || path.lower != nullptr || path.upper != nullptr;
  // Order is worth about a range; an index that restricts nothing costs a row look-up for each entry.
  if (path.gives_order) path.score += restricted || !path.index.has_value() ? 60 : 30;
  if (!path.index.has_value()) path.score += 5;
}

}  // namespace

std::vector<KeyBounds> Binder::BoundsOf(const std::vector<std::vector<const Expr*>>& equal) {
  std::vector<KeyBounds> all(1);
  for (const auto& values : equal) {
    std::vector<KeyBounds> extended;
    extended.reserve(all.size() * values.size());
    for (const KeyBounds& prefix : all) {
      for (const Expr* value : values) {
        extended.push_back(prefix);
        extended.back().equal.push_back(value);
      }
    }
    all = std::move(extended);
  }
  return all;
}

void Binder::ChooseAccessPath(const Leaf& leaf, std::vector<const Expr*>& conjuncts, Plan& scan, WantedOrder* order) {
  using Kind = Restriction::Kind;
  std::vector<Restriction> restrictions;
  for (size_t i = 0; i < conjuncts.size(); ++i) {
    const Expr* expr = conjuncts[i];
    if (const Expr* flag = BareColumn(expr, leaf); flag != nullptr) {
      restrictions.push_back({Kind::kEqual,
                              flag->index - leaf.first_id,
                              true,
                              {MakeConstant(TypeId::kBoolean, type::Datum::Bool(true), -1)},
                              i});
      continue;
    }
    const bool comparison = expr->kind == ExprKind::kCall && expr->function->is_operator && expr->args.size() == 2;
    const bool in_list = expr->kind == ExprKind::kInList && !expr->flag;
    if (!comparison && !in_list) continue;
    std::string_view op = in_list ? std::string_view("=") : expr->function->name;
    const Expr* column = BareColumn(expr->args[0], leaf);
    size_t first_value = 1;
    if (column == nullptr && comparison) {
      column = BareColumn(expr->args[1], leaf);
      first_value = 0;
      op = Mirrored(op);
    }
    const std::optional<Kind> kind = KindOf(op);
    if (column == nullptr || !kind.has_value()) continue;
    Restriction restriction{
        in_list ? Kind::kIn : *kind, column->index - leaf.first_id, op.size() == 2 || op == "=", {}, i};
    const size_t end = in_list ? expr->args.size() : first_value + 1;
    for (size_t at = first_value; at < end; ++at) {
      const Expr* value = BoundOf(expr->args[at], column->type.id);
      if (value == nullptr) break;
      restriction.values.push_back(value);
    }
    if (restriction.values.size() == end - first_value) restrictions.push_back(std::move(restriction));
  }
  std::vector<Path> paths = PathsOf(*leaf.table);
  Path* best = nullptr;
  for (Path& path : paths) {
    ApplyRestrictions(restrictions, path);
    path.gives_order = order != nullptr && !order->keys.empty() && GivesOrder(order->keys, leaf, path);
    Score(path);
    if (best == nullptr || path.score > best->score) best = &path;
  }
  scan.index = best->index;
  if (best->gives_order) {
    order->satisfied = true;
    scan.backward = best->backward;
  }
  std::vector<bool> certain(conjuncts.size(), false);
  if (!best->equal.empty() || best->lower != nullptr || best->upper != nullptr) {
    std::vector<std::vector<const Expr*>> equal;
    for (const Restriction* r : best->equal) {
      equal.push_back(r->values);
      certain[r->conjunct] = true;
    }
    scan.bounds = BoundsOf(equal);
    for (KeyBounds& bounds : scan.bounds) {
      if (best->lower != nullptr) {
        bounds.lower = best->lower->values[0];
        bounds.lower_inclusive = best->lower->inclusive;
        certain[best->lower->conjunct] = true;
      }
      if (best->upper != nullptr) {
        bounds.upper = best->upper->values[0];
        bounds.upper_inclusive = best->upper->inclusive;
        certain[best->upper->conjunct] = true;
      }
    }
  } else if (!best->gives_order) {
    scan.index.reset();
  }
  std::vector<const Expr*> rest;
  for (size_t i = 0; i < conjuncts.size(); ++i) {
    if (!certain[i]) rest.push_back(conjuncts[i]);
  }
  conjuncts = std::move(rest);
}

}  // namespace sisal::sql
