#include "resolve.h"

#include <algorithm>

namespace sisal::sql {
namespace {

using function::CastContext;
using type::TypeId;

size_t ExactMatches(const TypeIds& candidate, const TypeIds& actual, bool or_preferred) {
  size_t count = 0;
  for (size_t i = 0; i < actual.size(); ++i) {
    if (actual[i] == TypeId::kUnknown) continue;
    const bool exact = candidate[i] == actual[i];
    const bool preferred =
        or_preferred && CategoryOf(candidate[i]) == CategoryOf(actual[i]) && IsPreferred(candidate[i]);
    if (exact || preferred) ++count;
  }
  return count;
}

using Kept = std::vector<size_t>;
using Candidates = std::vector<std::optional<TypeIds>>;

void KeepBest(const Candidates& candidates, const TypeIds& actual, bool or_preferred, Kept& kept) {
  size_t best = 0;
  Kept winners;
  for (const size_t i : kept) {
    const size_t matches = ExactMatches(*candidates[i], actual, or_preferred);
    if (matches > best) {
      best = matches;
      winners.clear();
    }
    if (matches == best) winners.push_back(i);
  }
  kept = std::move(winners);
}

// Rules 4.c of 10.2 and 10.3: unknown literals take the string category if any candidate does, else the category that
// all share; a preferred type of it wins. Returns false if the categories conflict.
bool ApplyUnknownCategories(const Candidates& candidates, const TypeIds& actual, Kept& kept) {
  std::vector<char> categories(actual.size(), 0);
  std::vector<bool> preferred(actual.size(), false);
  for (size_t at = 0; at < actual.size(); ++at) {
    if (actual[at] != TypeId::kUnknown) continue;
    bool conflict = false;
    for (const size_t i : kept) {
      const TypeId wanted = (*candidates[i])[at];
      const char category = CategoryOf(wanted);
      if (categories[at] == 0) {
        categories[at] = category;
        preferred[at] = IsPreferred(wanted);
      } else if (categories[at] == category) {
        preferred[at] = preferred[at] || IsPreferred(wanted);
      } else if (category == 'S') {
        categories[at] = category;
        preferred[at] = IsPreferred(wanted);
        conflict = false;
      } else if (categories[at] != 'S') {
        conflict = true;
      }
    }
    if (conflict) return false;
  }
  Kept fitting;
  for (const size_t i : kept) {
    bool fits = true;
    for (size_t at = 0; at < actual.size() && fits; ++at) {
      if (actual[at] != TypeId::kUnknown) continue;
      const TypeId wanted = (*candidates[i])[at];
      fits = CategoryOf(wanted) == categories[at] && (!preferred[at] || IsPreferred(wanted));
    }
    if (fits) fitting.push_back(i);
  }
  if (!fitting.empty()) kept = std::move(fitting);
  return true;
}

// Rule 4.e: if all known arguments have one type, unknown ones are taken to have it too.
void AssumeKnownType(const Candidates& candidates, const TypeIds& actual, Kept& kept) {
  TypeId known = TypeId::kUnknown;
  for (const TypeId type : actual) {
    if (type == TypeId::kUnknown) continue;
    if (known != TypeId::kUnknown && known != type) return;
    known = type;
  }
  if (known == TypeId::kUnknown) return;
  Kept fitting;
  for (const size_t i : kept) {
    const TypeIds& types = *candidates[i];
    if (std::all_of(types.begin(), types.end(),
                    [&](TypeId wanted) { return CanCoerce(known, wanted, CastContext::kImplicit); })) {
      fitting.push_back(i);
    }
  }
  if (fitting.size() == 1) kept = std::move(fitting);
}

// The arguments that an entry takes when it is called with `count`.
std::optional<TypeIds> Expand(const std::vector<TypeId>& declared, bool variadic, size_t count) {
  if (declared.size() == count) return declared;
  if (!variadic || declared.empty() || count < declared.size()) return std::nullopt;
  TypeIds types = declared;
  types.resize(count, declared.back());
  return types;
}

// The type that an unknown literal has next to a value of `other`: its type, but for varchar the operators are text's.
TypeId OperandTypeOf(TypeId id) { return id == TypeId::kVarchar ? TypeId::kText : id; }

}  // namespace

char CategoryOf(TypeId id) {
  switch (id) {
    case TypeId::kUnknown:
      return 'X';
    case TypeId::kBoolean:
      return 'B';
    case TypeId::kText:
    case TypeId::kVarchar:
    case TypeId::kChar:
      return 'S';
    case TypeId::kDate:
    case TypeId::kTime:
    case TypeId::kTimestamp:
    case TypeId::kTimestampTz:
      return 'D';
    case TypeId::kInterval:
      return 'T';
    case TypeId::kBytea:
    case TypeId::kUuid:
      return 'U';
    default:
      return 'N';
  }
}

bool IsPreferred(TypeId id) {
  return id == TypeId::kBoolean || id == TypeId::kDouble || id == TypeId::kText || id == TypeId::kTimestampTz ||
         id == TypeId::kInterval;
}

bool CanCoerce(TypeId from, TypeId to, CastContext context) {
  if (from == to || from == TypeId::kUnknown) return true;
  const function::Cast* cast = function::FindCast(from, to);
  return cast != nullptr && cast->context <= context;
}

std::string TypeList(std::span<const TypeId> types) {
  std::string list;
  for (const TypeId type : types) {
    if (!list.empty()) list += ", ";
    list += type == TypeId::kUnknown ? std::string_view("unknown") : type::TypeName(type);
  }
  return list;
}

Resolution ResolveOverload(const Candidates& candidates, const TypeIds& actual) {
  Resolution resolution;
  const auto found = [&](size_t index) {
    resolution.match = Match::kFound;
    resolution.index = index;
    resolution.types = *candidates[index];
    return resolution;
  };
  Kept kept;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (!candidates[i].has_value()) continue;
    if (*candidates[i] == actual) return found(i);
    bool callable = true;
    for (size_t at = 0; at < actual.size() && callable; ++at) {
      callable = CanCoerce(actual[at], (*candidates[i])[at], CastContext::kImplicit);
    }
    if (callable) kept.push_back(i);
  }
  if (kept.empty()) return resolution;
  if (kept.size() == 1) return found(kept[0]);
  KeepBest(candidates, actual, false, kept);
  if (kept.size() == 1) return found(kept[0]);
  KeepBest(candidates, actual, true, kept);
  if (kept.size() == 1) return found(kept[0]);
  if (std::find(actual.begin(), actual.end(), TypeId::kUnknown) != actual.end()) {
    if (ApplyUnknownCategories(candidates, actual, kept) && kept.size() == 1) return found(kept[0]);
    AssumeKnownType(candidates, actual, kept);
    if (kept.size() == 1) return found(kept[0]);
  }
  resolution.match = Match::kAmbiguous;
  return resolution;
}

ResolvedFunction ResolveOperator(std::string_view name, const TypeIds& operands) {
  const auto entries = function::FindOperators(name);
  std::vector<std::optional<TypeIds>> candidates;
  for (const function::Function* entry : entries) {
    candidates.push_back(Expand(entry->arguments, false, operands.size()));
  }
  // An unknown operand next to a known one has its type, if there is such an operator (10.2, 2.a).
  TypeIds assumed = operands;
  for (TypeId& type : assumed) type = OperandTypeOf(type);
  if (assumed.size() == 2) {
    if (assumed[0] == TypeId::kUnknown) assumed[0] = assumed[1];
    if (assumed[1] == TypeId::kUnknown) assumed[1] = assumed[0];
  }
  ResolvedFunction resolved;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i].has_value() && *candidates[i] == assumed && assumed[0] != TypeId::kUnknown) {
      return {Match::kFound, entries[i], assumed};
    }
  }
  Resolution resolution = ResolveOverload(candidates, operands);
  resolved.match = resolution.match;
  if (resolution.match == Match::kFound) resolved.function = entries[resolution.index];
  resolved.types = std::move(resolution.types);
  return resolved;
}

ResolvedFunction ResolveFunction(std::string_view name, const TypeIds& actual) {
  const auto entries = function::FindFunctions(name);
  std::vector<std::optional<TypeIds>> candidates;
  for (const function::Function* entry : entries) {
    if (!entry->any_argument) {
      candidates.push_back(Expand(entry->arguments, entry->variadic, actual.size()));
      continue;
    }
    // Taken as they are; a literal of unknown type is text.
    const bool fits = actual.size() == entry->arguments.size() ||
                      (entry->variadic && actual.size() >= std::max<size_t>(entry->arguments.size(), 1));
    TypeIds types = actual;
    for (size_t at = 0; at < types.size(); ++at) {
      const bool declared = at < entry->arguments.size() && entry->arguments[at] != TypeId::kUnknown;
      if (declared && !(entry->variadic && at + 1 >= entry->arguments.size())) types[at] = entry->arguments[at];
      if (types[at] == TypeId::kUnknown) types[at] = TypeId::kText;
    }
    candidates.push_back(fits ? std::optional<TypeIds>(types) : std::nullopt);
  }
  Resolution resolution = ResolveOverload(candidates, actual);
  ResolvedFunction resolved;
  resolved.match = resolution.match;
  if (resolution.match == Match::kFound) resolved.function = entries[resolution.index];
  resolved.types = std::move(resolution.types);
  return resolved;
}

ResolvedAggregate ResolveAggregate(std::string_view name, const TypeIds& actual) {
  const auto entries = function::FindAggregates(name);
  std::vector<std::optional<TypeIds>> candidates;
  for (const function::Aggregate* entry : entries) {
    std::optional<TypeIds> types = Expand(entry->arguments, false, actual.size());
    // count("any") is declared over kUnknown: it takes its argument as it is.
    if (types.has_value()) {
      for (size_t at = 0; at < types->size(); ++at) {
        if ((*types)[at] != TypeId::kUnknown) continue;
        (*types)[at] = actual[at] == TypeId::kUnknown ? TypeId::kText : actual[at];
      }
    }
    candidates.push_back(std::move(types));
  }
  Resolution resolution = ResolveOverload(candidates, actual);
  ResolvedAggregate resolved;
  resolved.match = resolution.match;
  if (resolution.match == Match::kFound) resolved.aggregate = entries[resolution.index];
  resolved.types = std::move(resolution.types);
  return resolved;
}

ResolvedSetFunction ResolveSetFunction(std::string_view name, const TypeIds& actual) {
  const auto entries = function::FindSetFunctions(name);
  std::vector<std::optional<TypeIds>> candidates;
  for (const function::SetFunction* entry : entries) {
    candidates.push_back(Expand(entry->arguments, false, actual.size()));
  }
  Resolution resolution = ResolveOverload(candidates, actual);
  ResolvedSetFunction resolved;
  resolved.match = resolution.match;
  if (resolution.match == Match::kFound) resolved.function = entries[resolution.index];
  resolved.types = std::move(resolution.types);
  return resolved;
}

std::optional<TypeId> CommonType(std::span<const TypeId> types, size_t& failed_at, TypeId& matched) {
  TypeId common = TypeId::kUnknown;
  for (size_t i = 0; i < types.size(); ++i) {
    const TypeId next = types[i];
    if (next == TypeId::kUnknown || next == common) continue;
    if (common == TypeId::kUnknown) {
      common = next;
      continue;
    }
    if (CategoryOf(next) != CategoryOf(common)) {
      failed_at = i;
      matched = common;
      return std::nullopt;
    }
    if (!IsPreferred(common) && CanCoerce(common, next, CastContext::kImplicit) &&
        !CanCoerce(next, common, CastContext::kImplicit)) {
      common = next;
    }
  }
  return common == TypeId::kUnknown ? TypeId::kText : common;
}

}  // namespace sisal::sql
