// nextval() and its like. The binder has made an object id of a name that it could read; other names are looked up
// here.
#include <vector>

#include "kernel.h"
#include "registry.h"
#include "sisal/base/check.h"

namespace sisal::function {
namespace {

using enum type::TypeId;

Sequences& SequencesOf(Context& context) {
  SISAL_CHECK(context.sequences != nullptr);
  return *context.sequences;
}

// The sequence that the first argument names at `row`.
Result<int64_t> IdAt(const Call& call, uint32_t row) {
  const type::Vector& name = call.args[0];
  if (name.type.storage() == type::Storage::kInt) return name.Int(row);
  return SequencesOf(call.context).Find(name.Bytes(row));
}

Status NextVal(const Call& call, type::Vector& out) {
  Sequences& sequences = SequencesOf(call.context);
  if (!call.args[0].constant) {
    for (uint32_t i = 0; i < call.rows.count; ++i) {
      SISAL_ASSIGN_OR_RETURN(const int64_t id, IdAt(call, call.rows[i]));
      SISAL_RETURN_IF_ERROR(sequences.Next(id, std::span(&out.ints[call.rows[i]], 1)));
    }
    return Status();
  }
  SISAL_ASSIGN_OR_RETURN(const int64_t id, IdAt(call, 0));
  if (call.rows.data == nullptr) return sequences.Next(id, std::span(out.ints, call.rows.count));
  std::vector<int64_t> values(call.rows.count);
  SISAL_RETURN_IF_ERROR(sequences.Next(id, values));
  for (uint32_t i = 0; i < call.rows.count; ++i) out.ints[call.rows[i]] = values[i];
  return Status();
}

Status CurrVal(const Call& call, type::Vector& out) {
  for (uint32_t i = 0; i < call.rows.count; ++i) {
    SISAL_ASSIGN_OR_RETURN(const int64_t id, IdAt(call, call.rows[i]));
    SISAL_ASSIGN_OR_RETURN(out.ints[call.rows[i]], SequencesOf(call.context).Current(id));
  }
  return Status();
}

Status LastVal(const Call& call, type::Vector& out) {
  for (uint32_t i = 0; i < call.rows.count; ++i) {
    SISAL_ASSIGN_OR_RETURN(out.ints[call.rows[i]], SequencesOf(call.context).Last());
  }
  return Status();
}

Status SetVal(const Call& call, type::Vector& out) {
  for (uint32_t i = 0; i < call.rows.count; ++i) {
    const uint32_t row = call.rows[i];
    SISAL_ASSIGN_OR_RETURN(const int64_t id, IdAt(call, row));
    const bool called = call.args.size() < 3 || call.args[2].Int(row) != 0;
    const int64_t value = call.args[1].Int(row);
    SISAL_RETURN_IF_ERROR(SequencesOf(call.context).Set(id, value, called));
    out.ints[row] = value;
  }
  return Status();
}

Status SerialSequence(const Call& call, type::Vector& out) {
  type::EnsureNulls(out, call.capacity, call.arena);
  for (uint32_t i = 0; i < call.rows.count; ++i) {
    const uint32_t row = call.rows[i];
    SISAL_ASSIGN_OR_RETURN(const std::string name,
                           SequencesOf(call.context).OwnedBy(call.args[0].Bytes(row), call.args[1].Bytes(row)));
    if (name.empty()) {
      out.SetNull(row);
    } else {
      out.bytes[row] = call.arena.Copy(name);
    }
  }
  return Status();
}

}  // namespace

void RegisterSequenceFunctions(Registry& registry) {
  for (const type::TypeId name : {kBigint, kText}) {
    registry.Scalar("nextval", {name}, kBigint, NextVal).volatility = Volatility::kVolatile;
    registry.Scalar("currval", {name}, kBigint, CurrVal).volatility = Volatility::kVolatile;
    registry.Scalar("setval", {name, kBigint}, kBigint, SetVal).volatility = Volatility::kVolatile;
    registry.Scalar("setval", {name, kBigint, kBoolean}, kBigint, SetVal).volatility = Volatility::kVolatile;
  }
  registry.Scalar("lastval", {}, kBigint, LastVal).volatility = Volatility::kVolatile;
  registry.Scalar("pg_get_serial_sequence", {kText, kText}, kText, SerialSequence).volatility = Volatility::kStable;
}

}  // namespace sisal::function
