#include "registry.h"

#include "sisal/base/check.h"

namespace sisal::function {

Function& Registry::Scalar(std::string_view name, Types arguments, type::TypeId result, Kernel kernel) {
  Function& entry = function_store_.emplace_back();
  entry.name = name;
  entry.arguments = std::move(arguments);
  entry.result = result;
  entry.kernel = kernel;
  functions_[name].push_back(&entry);
  return entry;
}

Function& Registry::Operator(std::string_view name, Types arguments, type::TypeId result, Kernel kernel) {
  Function& entry = function_store_.emplace_back();
  entry.name = name;
  entry.arguments = std::move(arguments);
  entry.result = result;
  entry.kernel = kernel;
  entry.is_operator = true;
  operators_[name].push_back(&entry);
  return entry;
}

void Registry::ScalarAndOperator(std::string_view name, std::string_view symbol, const Types& arguments,
                                 type::TypeId result, Kernel kernel) {
  Scalar(name, arguments, result, kernel);
  Operator(symbol, arguments, result, kernel);
}

Cast& Registry::AddCast(type::TypeId from, type::TypeId to, CastContext context, Kernel kernel) {
  Cast& entry = cast_store_.emplace_back(Cast{from, to, context, kernel});
  SISAL_CHECK(casts_[Index(from)][Index(to)] == nullptr);
  casts_[Index(from)][Index(to)] = &entry;
  return entry;
}

Aggregate& Registry::AddAggregate(Aggregate aggregate) {
  Aggregate& entry = aggregate_store_.emplace_back(std::move(aggregate));
  aggregates_[entry.name].push_back(&entry);
  return entry;
}

void Registry::AddSetFunction(SetFunction function) {
  const SetFunction& entry = set_function_store_.emplace_back(std::move(function));
  set_functions_[entry.name].push_back(&entry);
}

namespace {

Registry MakeRegistry() {
  Registry registry;
  RegisterIntegerFunctions(registry);
  RegisterFloatFunctions(registry);
  RegisterFloatMathFunctions(registry);
  RegisterNumericFunctions(registry);
  RegisterBooleanFunctions(registry);
  RegisterTextFunctions(registry);
  RegisterTextEditFunctions(registry);
  RegisterFormatFunctions(registry);
  RegisterPatternFunctions(registry);
  RegisterRegexFunctions(registry);
  RegisterByteaFunctions(registry);
  RegisterUuidFunctions(registry);
  RegisterDateTimeOperators(registry);
  RegisterDateTimeFunctions(registry);
  RegisterToCharFunctions(registry);
  RegisterSequenceFunctions(registry);
  RegisterSessionFunctions(registry);
  RegisterNumberCasts(registry);
  RegisterTextCasts(registry);
  RegisterDateTimeCasts(registry);
  RegisterCountAggregates(registry);
  RegisterSumAggregates(registry);
  RegisterExtremeAggregates(registry);
  RegisterVarianceAggregates(registry);
  RegisterLogicAggregates(registry);
  RegisterStringAggregates(registry);
  RegisterSetFunctions(registry);
  return registry;
}

const Registry& TheRegistry() {
  static const Registry* const registry = new Registry(MakeRegistry());  // lives for ever
  return *registry;
}

}  // namespace

std::span<const Function* const> FindFunctions(std::string_view name) { return TheRegistry().FindFunctions(name); }
std::span<const Function* const> FindOperators(std::string_view name) { return TheRegistry().FindOperators(name); }
const Cast* FindCast(type::TypeId from, type::TypeId to) { return TheRegistry().FindCast(from, to); }
std::span<const Aggregate* const> FindAggregates(std::string_view name) { return TheRegistry().FindAggregates(name); }
std::span<const SetFunction* const> FindSetFunctions(std::string_view name) {
  return TheRegistry().FindSetFunctions(name);
}

}  // namespace sisal::function
