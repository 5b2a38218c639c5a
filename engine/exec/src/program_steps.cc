// What each step of a Program does.
#include <algorithm>

#include "operator.h"
#include "program.h"
#include "sisal/type/row_codec.h"
#include "step.h"

namespace sisal::exec {

using type::Chunk;
using type::Selection;
using type::Storage;
using type::Vector;

namespace {

// A boolean vector over `capacity` rows; constant if `constant`.
Vector MakeBooleans(bool constant, uint32_t capacity, Arena& arena) {
  Vector out = type::MakeVector(type::TypeId::kBoolean, constant ? 1 : capacity, arena);
  out.constant = constant;
  return out;
}

// Rows to compute: all of `rows`, or just row 0 for a constant.
Selection RowsFor(const Vector& out, const Selection& rows) {
  static constexpr uint16_t kFirstRow[] = {0};
  return out.constant ? Selection{kFirstRow, rows.count > 0 ? 1u : 0u} : rows;
}

void CopyValue(const Vector& from, uint32_t row, Vector& to) {
  switch (to.type.storage()) {
    case Storage::kInt:
      to.ints[row] = from.Int(row);
      break;
    case Storage::kDouble:
      to.doubles[row] = from.Double(row);
      break;
    case Storage::kBytes:
      to.bytes[row] = from.Bytes(row);
      break;
  }
}

void ClearNull(Vector& vector, uint32_t row) { vector.nulls[row / 64] &= ~(uint64_t{1} << (row % 64)); }

int CompareAt(const Vector& a, const Vector& b, uint32_t row) {
  switch (a.type.storage()) {
    case Storage::kInt:
      return a.Int(row) < b.Int(row) ? -1 : a.Int(row) > b.Int(row);
    case Storage::kDouble:
      return type::CompareDoubles(a.Double(row), b.Double(row));
    case Storage::kBytes:
      return type::CompareBytes(a.type.id, a.Bytes(row), b.Bytes(row));
  }
  return 0;
}

// The rows of `rows` for which `keep` holds.
template <typename Predicate>
Selection Narrow(const Selection& rows, Arena& arena, Predicate keep) {
  uint16_t* kept = arena.AllocateArray<uint16_t>(std::max(rows.count, 1u));
  uint32_t count = 0;
  for (uint32_t i = 0; i < rows.count; ++i) {
    const uint32_t row = rows[i];
    if (keep(row)) kept[count++] = static_cast<uint16_t>(row);
  }
  return Selection{kept, count};
}

void Not(const Vector& arg, const Selection& rows, uint32_t capacity, Arena& arena, Vector& out) {
  out = MakeBooleans(arg.constant, capacity, arena);
  const Selection active = RowsFor(out, rows);
  if (arg.nulls != nullptr) type::EnsureNulls(out, capacity, arena);
  for (uint32_t i = 0; i < active.count; ++i) {
    const uint32_t row = active[i];
    if (arg.IsNull(row)) {
      out.SetNull(row);
    } else {
      out.ints[row] = arg.Int(row) == 0;
    }
  }
}

// wanted: 0 FALSE, 1 TRUE, 2 UNKNOWN.
void BooleanTest(const Vector& arg, uint32_t wanted, bool negate, const Selection& rows, uint32_t capacity,
                 Arena& arena, Vector& out) {
  out = MakeBooleans(arg.constant, capacity, arena);
  const Selection active = RowsFor(out, rows);
  for (uint32_t i = 0; i < active.count; ++i) {
    const uint32_t row = active[i];
    const uint32_t state = arg.IsNull(row) ? 2 : arg.Int(row) != 0;
    out.ints[row] = (state == wanted) != negate;
  }
}

void GreatestOrLeast(std::span<const Vector> args, bool greatest, const type::SqlType& result, const Selection& rows,
                     uint32_t capacity, Arena& arena, Vector& out) {
  out = type::MakeVector(result, capacity, arena);
  type::EnsureNulls(out, capacity, arena);
  for (uint32_t i = 0; i < rows.count; ++i) {
    const uint32_t row = rows[i];
    const Vector* best = nullptr;
    for (const Vector& arg : args) {
      if (arg.IsNull(row)) continue;
      if (best == nullptr || (greatest ? CompareAt(arg, *best, row) > 0 : CompareAt(arg, *best, row) < 0)) best = &arg;
    }
    if (best == nullptr) {
      out.SetNull(row);
    } else {
      CopyValue(*best, row, out);
    }
  }
}

// AND and OR decide a row at its first FALSE (TRUE); NULL is kept until then. `out` begins as TRUE (FALSE).
Selection Logic(const Vector& arg, bool is_and, const Selection& rows, Arena& arena, Vector& out) {
  const int64_t deciding = is_and ? 0 : 1;
  return Narrow(rows, arena, [&](uint32_t row) {
    if (arg.IsNull(row)) {
      out.SetNull(row);
      return true;
    }
    if ((arg.Int(row) != 0) != (deciding != 0)) return true;
    out.ints[row] = deciding;
    ClearNull(out, row);
    return false;
  });
}

}  // namespace

Status Program::Run(const Step& step, const Chunk& input, Arena& arena) {
  (void)input;
  Vector& out = registers_[step.out];
  const Selection rows = selections_[step.rows];
  std::vector<Vector> args;
  args.reserve(step.args.size());
  for (uint32_t arg : step.args) args.push_back(registers_[arg]);
  function::Context& context = frame_->state.options.function;

  switch (step.op) {
    case Op::kCall: {
      const function::Function& f = *step.expr->function;
      return CallKernel(f.kernel, f.strict, f.volatility != function::Volatility::kVolatile, step.type, args, rows,
                        capacity_, arena, context, out);
    }
    case Op::kCast: {
      if (step.expr->cast->kernel == nullptr) {
        out = args[0];
        out.type = step.type;
        return Status();
      }
      return CallKernel(step.expr->cast->kernel, true, true, step.type.id, args, rows, capacity_, arena, context, out);
    }
    case Op::kModifiers: {
      out = type::MakeVector(step.type, capacity_, arena);
      if (args[0].nulls != nullptr) type::EnsureNulls(out, capacity_, arena);
      const Selection present = Narrow(rows, arena, [&](uint32_t row) {
        if (args[0].IsNull(row)) out.SetNull(row);
        return !args[0].IsNull(row);
      });
      if (present.count == 0) return Status();
      return function::ApplyModifiersKernel({args, present, capacity_, arena, context}, step.type, step.flag, out);
    }
    case Op::kNot:
      Not(args[0], rows, capacity_, arena, out);
      return Status();
    case Op::kIsNull: {
      out = MakeBooleans(args[0].constant, capacity_, arena);
      const Selection active = RowsFor(out, rows);
      for (uint32_t i = 0; i < active.count; ++i) out.ints[active[i]] = args[0].IsNull(active[i]) != step.flag;
      return Status();
    }
    case Op::kBooleanTest:
      BooleanTest(args[0], step.wanted, step.flag, rows, capacity_, arena, out);
      return Status();
    case Op::kGreatest:
    case Op::kLeast:
      GreatestOrLeast(args, step.op == Op::kGreatest, step.type, rows, capacity_, arena, out);
      return Status();
    case Op::kBegin: {
      out = type::MakeVector(step.type, capacity_, arena);
      type::EnsureNulls(out, capacity_, arena);
      if (step.wanted != 0) {  // AND, OR: the value that holds until a row is decided
        for (uint32_t i = 0; i < rows.count; ++i) out.ints[rows[i]] = step.flag ? 1 : 0;
      } else {
        for (uint32_t i = 0; i < rows.count; ++i) out.SetNull(rows[i]);
      }
      return Status();
    }
    case Op::kCopy:
      for (uint32_t i = 0; i < rows.count; ++i) {
        const uint32_t row = rows[i];
        if (args[0].IsNull(row)) continue;
        ClearNull(out, row);
        CopyValue(args[0], row, out);
      }
      return Status();
    case Op::kLogic:
      selections_[step.narrowed] = Logic(args[0], step.flag, rows, arena, out);
      return Status();
    case Op::kBranch: {
      const auto taken = [&](uint32_t row) { return !args[0].IsNull(row) && args[0].Int(row) != 0; };
      selections_[step.narrowed] = Narrow(rows, arena, taken);
      selections_[step.rest] = Narrow(rows, arena, [&](uint32_t row) { return !taken(row); });
      return Status();
    }
    case Op::kCoalesce:
      selections_[step.narrowed] = Narrow(rows, arena, [&](uint32_t row) {
        if (args[0].IsNull(row)) return true;
        ClearNull(out, row);
        CopyValue(args[0], row, out);
        return false;
      });
      return Status();
    case Op::kIsDistinct:
    case Op::kNullIf:
    case Op::kInList:
    case Op::kInSet:
      return RunEquality(step, args, rows, arena);
    case Op::kSubquery:
      return RunSubquery(step, args, rows, arena);
  }
  return Status();
}

Status Program::RunEquality(const Step& step, std::span<const Vector> args, const Selection& rows, Arena& arena) {
  Vector& out = registers_[step.out];
  const auto equal = [&](const Vector& a, const Vector& b, Vector& result) {
    const Vector pair[] = {a, b};
    return CallKernel(step.expr->function->kernel, true, false, type::TypeId::kBoolean, pair, rows, capacity_, arena,
                      frame_->state.options.function, result);
  };
  if (step.op == Op::kInSet) return RunInSet(step, args[0], rows, arena);
  if (step.op == Op::kInList) {
    out = type::MakeVector(type::TypeId::kBoolean, capacity_, arena);
    type::EnsureNulls(out, capacity_, arena);
    for (uint32_t i = 0; i < rows.count; ++i) out.ints[rows[i]] = 0;
    for (size_t k = 1; k < args.size(); ++k) {
      Vector result;
      SISAL_RETURN_IF_ERROR(equal(args[0], args[k], result));
      for (uint32_t i = 0; i < rows.count; ++i) {
        const uint32_t row = rows[i];
        if (result.IsNull(row)) {
          if (out.ints[row] == 0) out.SetNull(row);
        } else if (result.Int(row) != 0) {
          out.ints[row] = 1;
          ClearNull(out, row);
        }
      }
    }
    if (step.flag) {
      for (uint32_t i = 0; i < rows.count; ++i) out.ints[rows[i]] = out.ints[rows[i]] == 0;
    }
    return Status();
  }
  Vector result;
  SISAL_RETURN_IF_ERROR(equal(args[0], args[1], result));
  out = type::MakeVector(step.type, capacity_, arena);
  type::EnsureNulls(out, capacity_, arena);
  for (uint32_t i = 0; i < rows.count; ++i) {
    const uint32_t row = rows[i];
    const bool same = !result.IsNull(row) && result.Int(row) != 0;
    if (step.op == Op::kIsDistinct) {
      const bool both_null = args[0].IsNull(row) && args[1].IsNull(row);
      out.ints[row] = (same || both_null) == step.flag;
    } else if (same || args[0].IsNull(row)) {
      out.SetNull(row);
    } else {
      CopyValue(args[0], row, out);
    }
  }
  return Status();
}

Status Program::RunInSet(const Step& step, const Vector& value, const Selection& rows, Arena& arena) {
  Vector& out = registers_[step.out];
  out = type::MakeVector(type::TypeId::kBoolean, capacity_, arena);
  type::EnsureNulls(out, capacity_, arena);
  std::string key;
  for (uint32_t i = 0; i < rows.count; ++i) {
    const uint32_t row = rows[i];
    if (value.IsNull(row)) {
      out.SetNull(row);
      continue;
    }
    key.clear();
    type::AppendKey(value.type, value, row, type::SortOrder::kAscending, false, key);
    const bool found = step.set.contains(key);
    if (!found && step.set_has_null) out.SetNull(row);
    out.ints[row] = found != step.flag;
  }
  return Status();
}

// One row of a subquery at a time. An uncorrelated scalar or EXISTS runs once and is kept.
Status Program::RunSubquery(const Step& step, std::span<const Vector> args, const Selection& rows, Arena& arena) {
  Vector& out = registers_[step.out];
  Subplan& subplan = *subplans_[step.subplan];
  const sql::Expr& e = *step.expr;
  const bool is_in = e.kind == sql::ExprKind::kInSubquery;
  const std::span<const Vector> outer = args.subspan(is_in ? 1 : 0);
  const bool once = !is_in && outer.empty();
  if (is_in && outer.empty() && args[0].type.id == e.subplan->output[0].id) {
    return RunInMembers(step, subplan, args[0], rows, arena);
  }
  if (once && subplan.cached) {
    out = subplan.cached_value;
    return Status();
  }
  out = type::MakeVector(step.type, capacity_, arena);
  type::EnsureNulls(out, capacity_, arena);
  for (uint32_t i = 0; i < rows.count; ++i) {
    const uint32_t row = rows[i];
    SISAL_RETURN_IF_ERROR(frame_->state.CheckInterrupt());
    std::vector<Vector> outer_row;
    for (const Vector& value : outer) outer_row.push_back(type::MakeConstant(value.type, value.ToDatum(row), arena));
    SISAL_RETURN_IF_ERROR(subplan.Start(std::move(outer_row)));
    SISAL_ASSIGN_OR_RETURN(const type::Datum result, SubqueryValue(step, subplan, args, row));
    const Vector constant = type::MakeConstant(step.type, result, once ? frame_->state.constants : arena);
    if (once) {
      subplan.cached = true;
      subplan.cached_value = constant;
      out = constant;
      return Status();
    }
    if (result.is_null()) {
      out.SetNull(row);
    } else {
      Vector moved = constant;
      moved.constant = true;
      CopyValue(moved, row, out);
    }
  }
  return Status();
}

// An uncorrelated IN: its rows become a hash of keys, and each row of ours one look into it.
Status Program::RunInMembers(const Step& step, Subplan& subplan, const Vector& value, const Selection& rows,
                             Arena& arena) {
  Vector& out = registers_[step.out];
  out = type::MakeVector(step.type, capacity_, arena);
  type::EnsureNulls(out, capacity_, arena);
  if (rows.count == 0) return Status();
  if (!subplan.collected()) {
    SISAL_RETURN_IF_ERROR(subplan.Start({}));
    SISAL_RETURN_IF_ERROR(subplan.CollectMembers(frame_->state));
  }
  std::string key;
  for (uint32_t i = 0; i < rows.count; ++i) {
    const uint32_t row = rows[i];
    bool found = false;
    if (!subplan.empty() && !value.IsNull(row)) {
      key.clear();
      type::AppendKey(value.type, value, row, type::SortOrder::kAscending, false, key);
      found = subplan.Contains(key);
    }
    if (!found && !subplan.empty() && (value.IsNull(row) || subplan.has_null())) out.SetNull(row);
    out.ints[row] = found != step.flag;
  }
  return Status();
}

Result<type::Datum> Program::SubqueryValue(const Step& step, Subplan& subplan, std::span<const Vector> args,
                                           uint32_t row) {
  const sql::Expr& e = *step.expr;
  Chunk chunk;
  if (e.kind == sql::ExprKind::kExists) {
    SISAL_RETURN_IF_ERROR(subplan.Next(chunk));
    return type::Datum::Bool((chunk.row_count > 0) != e.flag);
  }
  if (e.kind == sql::ExprKind::kScalarSubquery) {
    SISAL_RETURN_IF_ERROR(subplan.Next(chunk));
    if (chunk.row_count == 0) return type::Datum::Null();
    const type::Datum value = chunk.columns[0].ToDatum(0);
    if (chunk.row_count == 1) SISAL_RETURN_IF_ERROR(subplan.Next(chunk));
    if (chunk.row_count > 0) return Error("21000", "more than one row returned by a subquery used as an expression");
    return value;
  }
  Arena arena(4096);
  const Vector value = type::MakeConstant(args[0].type, args[0].ToDatum(row), arena);
  bool saw_null = false;
  for (;;) {
    SISAL_RETURN_IF_ERROR(subplan.Next(chunk));
    if (chunk.row_count == 0) break;
    Arena step_arena(4096);
    Vector result;
    const Vector pair[] = {value, chunk.columns[0]};
    SISAL_RETURN_IF_ERROR(CallKernel(e.function->kernel, true, false, type::TypeId::kBoolean, pair,
                                     Selection{nullptr, chunk.row_count}, chunk.row_count, step_arena,
                                     frame_->state.options.function, result));
    for (uint32_t i = 0; i < chunk.row_count; ++i) {
      if (result.IsNull(i)) {
        saw_null = true;
      } else if (result.Int(i) != 0) {
        return type::Datum::Bool(!e.flag);
      }
    }
  }
  if (saw_null) return type::Datum::Null();
  return type::Datum::Bool(e.flag);
}

Status Subplan::CollectMembers(State& state) {
  members_ = std::make_unique<HashIndex>(state.memory);
  std::string key;
  for (;;) {
    SISAL_RETURN_IF_ERROR(state.CheckInterrupt());
    Chunk chunk;
    SISAL_RETURN_IF_ERROR(root_->Next(chunk));
    if (chunk.row_count == 0) return Status();
    const Vector& column = chunk.columns[0];
    for (uint32_t row = 0; row < chunk.row_count; ++row) {
      if (column.IsNull(row)) {
        has_null_ = true;
        continue;
      }
      key.clear();
      type::AppendKey(column.type, column, row, type::SortOrder::kAscending, false, key);
      bool added;
      SISAL_RETURN_IF_ERROR(members_->FindOrAdd(key, added).status());
    }
  }
}

Status Subplan::Start(std::vector<Vector> outer) {
  frame_.outer = std::move(outer);
  if (root_ != nullptr) return root_->Rewind();
  SISAL_ASSIGN_OR_RETURN(root_, MakeOperator(plan_, frame_));
  return Status();
}

}  // namespace sisal::exec
