// Which overload a call means: PostgreSQL's rules (manual, 10.2 and 10.3) over our registry of functions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sisal/function/function.h"
#include "sisal/type/sql_type.h"

namespace sisal::sql {

using TypeIds = std::vector<type::TypeId>;

// pg_type.typcategory and typispreferred.
char CategoryOf(type::TypeId id);
bool IsPreferred(type::TypeId id);

bool CanCoerce(type::TypeId from, type::TypeId to, function::CastContext context);

// "integer, unknown": argument types in an error message.
std::string TypeList(std::span<const type::TypeId> types);

enum class Match : uint8_t { kFound, kNone, kAmbiguous };
struct Resolution {
  Match match = Match::kNone;
  size_t index = 0;  // into the candidates
  TypeIds types;     // what the arguments are to be converted to
};

// Candidates' argument types, already as long as `actual`; an empty optional: not callable with that many.
Resolution ResolveOverload(const std::vector<std::optional<TypeIds>>& candidates, const TypeIds& actual);

// Prefix operators have one operand.
struct ResolvedFunction {
  Match match = Match::kNone;
  const function::Function* function = nullptr;
  TypeIds types;
};
ResolvedFunction ResolveOperator(std::string_view name, const TypeIds& operands);
ResolvedFunction ResolveFunction(std::string_view name, const TypeIds& actual);

struct ResolvedAggregate {
  Match match = Match::kNone;
  const function::Aggregate* aggregate = nullptr;
  TypeIds types;
};
ResolvedAggregate ResolveAggregate(std::string_view name, const TypeIds& actual);

struct ResolvedSetFunction {
  Match match = Match::kNone;
  const function::SetFunction* function = nullptr;
  TypeIds types;
};
ResolvedSetFunction ResolveSetFunction(std::string_view name, const TypeIds& actual);

// The type that UNION, CASE and the like give (manual, 10.5). Empty: no common type; `failed_at` is the first that does
// not match `matched`.
std::optional<type::TypeId> CommonType(std::span<const type::TypeId> types, size_t& failed_at, type::TypeId& matched);

}  // namespace sisal::sql
