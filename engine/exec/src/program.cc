#include "program.h"

#include <algorithm>
#include <cstring>

#include "operator.h"
#include "step.h"

namespace sisal::exec {

using sql::Expr;
using sql::ExprKind;
using type::Chunk;
using type::Selection;
using type::Storage;
using type::Vector;

Program::Program() = default;
Program::~Program() = default;
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;

namespace {

template <typename T>
void GatherValues(const T* from, const Selection& rows, T* to) {
  for (uint32_t i = 0; i < rows.count; ++i) to[i] = from[rows[i]];
}

}  // namespace

void Compact(std::span<Vector> vectors, const Selection& selection, Arena& arena) {
  if (selection.data == nullptr) return;
  for (Vector& vector : vectors) {
    if (vector.constant) continue;
    Vector dense = type::MakeVector(vector.type, std::max(selection.count, 1u), arena);
    switch (vector.type.storage()) {
      case Storage::kInt:
        GatherValues(vector.ints, selection, dense.ints);
        break;
      case Storage::kDouble:
        GatherValues(vector.doubles, selection, dense.doubles);
        break;
      case Storage::kBytes:
        GatherValues(vector.bytes, selection, dense.bytes);
        break;
    }
    if (vector.nulls != nullptr) {
      type::EnsureNulls(dense, std::max(selection.count, 1u), arena);
      for (uint32_t i = 0; i < selection.count; ++i) {
        if (vector.IsNull(selection[i])) dense.SetNull(i);
      }
    }
    vector = dense;
  }
}

void Flatten(Vector& vector, uint32_t row_count, Arena& arena) {
  if (!vector.constant) return;
  const uint32_t capacity = std::max(row_count, 1u);
  Vector flat = type::MakeVector(vector.type, capacity, arena);
  if (vector.IsNull(0)) {
    type::EnsureNulls(flat, capacity, arena);
    for (uint32_t i = 0; i < row_count; ++i) flat.SetNull(i);
    // Values under NULL are unspecified, but must be readable.
    std::memset(static_cast<void*>(flat.ints), 0, size_t{capacity} * (flat.type.storage() == Storage::kBytes ? 16 : 8));
  } else {
    switch (vector.type.storage()) {
      case Storage::kInt:
        std::fill_n(flat.ints, row_count, vector.ints[0]);
        break;
      case Storage::kDouble:
        std::fill_n(flat.doubles, row_count, vector.doubles[0]);
        break;
      case Storage::kBytes:
        std::fill_n(flat.bytes, row_count, vector.bytes[0]);
        break;
    }
  }
  vector = flat;
}

Status CallKernel(function::Kernel kernel, bool strict, bool foldable, const type::SqlType& result,
                  std::span<const Vector> args, const Selection& rows, uint32_t capacity, Arena& arena,
                  function::Context& context, Vector& out) {
  bool all_constant = foldable;
  for (const Vector& arg : args) all_constant = all_constant && arg.constant;
  static constexpr uint16_t kFirstRow[] = {0};
  Selection active = rows;
  if (all_constant) {
    capacity = 1;
    if (rows.count > 0) active = Selection{kFirstRow, 1};
  }
  out = type::MakeVector(result, capacity, arena);
  out.constant = all_constant;
  if (strict) {
    bool any_nulls = false;
    for (const Vector& arg : args) any_nulls = any_nulls || arg.nulls != nullptr;
    if (any_nulls) {
      type::EnsureNulls(out, capacity, arena);
      uint16_t* kept = arena.AllocateArray<uint16_t>(std::max(active.count, 1u));
      uint32_t kept_count = 0;
      for (uint32_t i = 0; i < active.count; ++i) {
        const uint32_t row = active[i];
        const bool null = std::any_of(args.begin(), args.end(), [row](const Vector& arg) { return arg.IsNull(row); });
        if (null) {
          out.SetNull(row);
        } else {
          kept[kept_count++] = static_cast<uint16_t>(row);
        }
      }
      active = Selection{kept, kept_count};
    }
  }
  if (active.count == 0) return Status();
  return kernel(function::Call{args, active, capacity, arena, context}, out);
}

Status Program::Evaluate(const Chunk& input, Arena& arena, std::span<Vector> out) {
  SISAL_CHECK(out.size() == results_.size());
  capacity_ = std::max(input.row_count, 1u);
  for (const Leaf& leaf : leaves_) {
    registers_[leaf.reg] = leaf.kind == ExprKind::kColumn ? input.columns[leaf.source] : frame_->outer[leaf.source];
  }
  selections_[0] = Selection{nullptr, input.row_count};
  for (const Step& step : steps_) SISAL_RETURN_IF_ERROR(Run(step, input, arena));
  for (size_t i = 0; i < results_.size(); ++i) out[i] = registers_[results_[i]];
  return Status();
}

Status Program::Select(const Chunk& input, Arena& arena, Selection& selected) {
  Vector result;
  SISAL_RETURN_IF_ERROR(Evaluate(input, arena, {&result, 1}));
  if (result.constant) {
    const bool all = !result.IsNull(0) && result.ints[0] != 0;
    selected = Selection{nullptr, all ? input.row_count : 0};
    return Status();
  }
  uint16_t* rows = arena.AllocateArray<uint16_t>(std::max(input.row_count, 1u));
  uint32_t count = 0;
  for (uint32_t row = 0; row < input.row_count; ++row) {
    rows[count] = static_cast<uint16_t>(row);
    count += (result.ints[row] != 0 && !result.IsNull(row)) ? 1 : 0;
  }
  selected = count == input.row_count ? Selection{nullptr, count} : Selection{rows, count};
  return Status();
}

Result<type::Datum> Program::EvaluateScalar() {
  Arena arena(1024);
  Vector result;
  SISAL_RETURN_IF_ERROR(Evaluate(Chunk{1, {}}, arena, {&result, 1}));
  return result.ToDatum(0);
}

}  // namespace sisal::exec
