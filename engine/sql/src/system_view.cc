#include "sisal/sql/system_view.h"

#include <string>

namespace sisal::sql {
namespace {

using enum type::TypeId;

// PostgreSQL's columns, without those that would be NULL in every row of ours.
constexpr SystemViewColumn kTables[] = {
    {"table_catalog", kText}, {"table_schema", kText},       {"table_name", kText},
    {"table_type", kText},    {"is_insertable_into", kText},
};
constexpr SystemViewColumn kColumns[] = {
    {"table_catalog", kText},
    {"table_schema", kText},
    {"table_name", kText},
    {"column_name", kText},
    {"ordinal_position", kInteger},
    {"column_default", kText},
    {"is_nullable", kText},
    {"data_type", kText},
    {"character_maximum_length", kInteger},
    {"numeric_precision", kInteger},
    {"numeric_scale", kInteger},
    {"datetime_precision", kInteger},
    {"udt_name", kText},
    {"is_identity", kText},
    {"identity_generation", kText},
    {"identity_start", kText},
    {"identity_increment", kText},
    {"identity_maximum", kText},
    {"identity_minimum", kText},
    {"identity_cycle", kText},
    {"is_updatable", kText},
};
// constraint_type: PRIMARY KEY, UNIQUE, CHECK, FOREIGN KEY.
constexpr SystemViewColumn kTableConstraints[] = {
    {"constraint_catalog", kText}, {"constraint_schema", kText}, {"constraint_name", kText},
    {"table_catalog", kText},      {"table_schema", kText},      {"table_name", kText},
    {"constraint_type", kText},    {"is_deferrable", kText},     {"initially_deferred", kText},
};
constexpr SystemViewColumn kCheckConstraints[] = {
    {"constraint_catalog", kText}, {"constraint_schema", kText}, {"constraint_name", kText},
    {"check_clause", kText},       {"table_name", kText},  // ours: names are unique within a table only
};
constexpr SystemViewColumn kReferentialConstraints[] = {
    {"constraint_catalog", kText},
    {"constraint_schema", kText},
    {"constraint_name", kText},
    {"unique_constraint_catalog", kText},
    {"unique_constraint_schema", kText},
    {"unique_constraint_name", kText},
    {"match_option", kText},
    {"update_rule", kText},
    {"delete_rule", kText},
    // Ours: names are unique within a table only; and the constraint as the client shows it.
    {"table_name", kText},
    {"referenced_table_name", kText},
    {"definition", kText},
};
// A row for each column of each primary key, unique constraint and foreign key.
constexpr SystemViewColumn kKeyColumnUsage[] = {
    {"constraint_catalog", kText}, {"constraint_schema", kText},   {"constraint_name", kText},
    {"table_catalog", kText},      {"table_schema", kText},        {"table_name", kText},
    {"column_name", kText},        {"ordinal_position", kInteger}, {"position_in_unique_constraint", kInteger},
};
constexpr SystemViewColumn kPgTables[] = {
    {"schemaname", kText},
    {"tablename", kText},
    {"tableowner", kText},
    {"hasindexes", kBoolean},
};
// Primary keys too, under their constraints' names; indexdef as PostgreSQL spells it.
constexpr SystemViewColumn kPgIndexes[] = {
    {"schemaname", kText},
    {"tablename", kText},
    {"indexname", kText},
    {"indexdef", kText},
};

constexpr SystemViewColumn kViewsView[] = {
    {"table_catalog", kText},        {"table_schema", kText},
    {"table_name", kText},           {"view_definition", kText},
    {"check_option", kText},         {"is_updatable", kText},
    {"is_insertable_into", kText},   {"is_trigger_updatable", kText},
    {"is_trigger_deletable", kText}, {"is_trigger_insertable_into", kText},
};
constexpr SystemViewColumn kPgViews[] = {
    {"schemaname", kText},
    {"viewname", kText},
    {"viewowner", kText},
    {"definition", kText},
};
// Without those of identity columns, as in PostgreSQL.
constexpr SystemViewColumn kSequences[] = {
    {"sequence_catalog", kText},
    {"sequence_schema", kText},
    {"sequence_name", kText},
    {"data_type", kText},
    {"numeric_precision", kInteger},
    {"numeric_precision_radix", kInteger},
    {"numeric_scale", kInteger},
    {"start_value", kText},
    {"minimum_value", kText},
    {"maximum_value", kText},
    {"increment", kText},
    {"cycle_option", kText},
};
constexpr SystemViewColumn kPgSequences[] = {
    {"schemaname", kText},    {"sequencename", kText}, {"sequenceowner", kText}, {"data_type", kText},
    {"start_value", kBigint}, {"min_value", kBigint},  {"max_value", kBigint},   {"increment_by", kBigint},
    {"cycle", kBoolean},      {"cache_size", kBigint}, {"last_value", kBigint},
};

constexpr SystemView kViews[] = {
    {"information_schema.tables", kTables},
    {"information_schema.columns", kColumns},
    {"information_schema.table_constraints", kTableConstraints},
    {"information_schema.check_constraints", kCheckConstraints},
    {"information_schema.referential_constraints", kReferentialConstraints},
    {"information_schema.key_column_usage", kKeyColumnUsage},
    {"information_schema.views", kViewsView},
    {"pg_catalog.pg_views", kPgViews},
    {"pg_catalog.pg_tables", kPgTables},
    {"pg_catalog.pg_indexes", kPgIndexes},
    {"information_schema.sequences", kSequences},
    {"pg_catalog.pg_sequences", kPgSequences},
};

}  // namespace

std::span<const SystemView> AllSystemViews() { return kViews; }

const SystemView* FindSystemView(std::string_view schema, std::string_view name) {
  const std::string qualified = std::string(schema.empty() ? "pg_catalog" : schema) + "." + std::string(name);
  for (const SystemView& view : kViews) {
    if (view.name == qualified) return &view;
  }
  return nullptr;
}

}  // namespace sisal::sql
