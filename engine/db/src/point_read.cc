#include "point_read.h"

namespace sisal::db {

Result<bool> ReadPoint(const Engine& engine, const CachedPlan& plan, std::span<const type::Datum> params,
                       PointRow& row) {
  row.row_count = 0;
  row.columns.clear();
  const exec::PointRead* program = plan.point_read();
  const uint64_t version = engine.catalog->newest_version();
  if (program == nullptr || !plan.IsCurrent(version, *engine.catalog, *engine.store)) return false;
  row.arena.Reset();
  row.key.clear();
  if (!program->AppendKey(params, row.key)) return true;
  const std::optional<std::string_view> bytes = engine.store->GetCommitted(program->tree(), row.key, row.arena);
  // Of a table that was dropped meanwhile the row may have been freed before we looked.
  if (engine.catalog->newest_version() != version) return false;
  if (!bytes.has_value()) return true;
  SISAL_RETURN_IF_ERROR(program->Decode(*bytes, row.arena, row.columns));
  row.row_count = 1;
  return true;
}

}  // namespace sisal::db
