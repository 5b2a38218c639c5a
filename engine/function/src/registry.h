// All entries. Each area of functions has one Register function, which adds its entries next to their kernels.
#pragma once

#include <deque>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sisal/function/function.h"

namespace sisal::function {

// Filled once, then immutable. Entries keep their addresses.
class Registry {
 public:
  using Types = std::vector<type::TypeId>;

  // The returned reference is for the rarer fields: Scalar(...).volatility = Volatility::kStable.
  Function& Scalar(std::string_view name, Types arguments, type::TypeId result, Kernel kernel);
  Function& Operator(std::string_view name, Types arguments, type::TypeId result, Kernel kernel);
  // Under both names.
  void ScalarAndOperator(std::string_view name, std::string_view symbol, const Types& arguments, type::TypeId result,
                         Kernel kernel);
  Cast& AddCast(type::TypeId from, type::TypeId to, CastContext context, Kernel kernel);
  Aggregate& AddAggregate(Aggregate aggregate);
  void AddSetFunction(SetFunction function);

  std::span<const Function* const> FindFunctions(std::string_view name) const { return Find(functions_, name); }
  std::span<const Function* const> FindOperators(std::string_view name) const { return Find(operators_, name); }
  std::span<const Aggregate* const> FindAggregates(std::string_view name) const { return Find(aggregates_, name); }
  std::span<const SetFunction* const> FindSetFunctions(std::string_view name) const {
    return Find(set_functions_, name);
  }
  const Cast* FindCast(type::TypeId from, type::TypeId to) const { return casts_[Index(from)][Index(to)]; }

 private:
  static constexpr size_t kTypeCount = static_cast<size_t>(type::TypeId::kUuid) + 1;
  template <typename Entry>
  using Names = std::unordered_map<std::string_view, std::vector<const Entry*>>;
  template <typename Entry>
  static std::span<const Entry* const> Find(const Names<Entry>& names, std::string_view name) {
    const auto found = names.find(name);
    if (found == names.end()) return {};
    return found->second;
  }
  static size_t Index(type::TypeId id) { return static_cast<size_t>(id); }

  std::deque<Function> function_store_;
  std::deque<Cast> cast_store_;
  std::deque<Aggregate> aggregate_store_;
  std::deque<SetFunction> set_function_store_;
  Names<Function> functions_, operators_;
  Names<Aggregate> aggregates_;
  Names<SetFunction> set_functions_;
  const Cast* casts_[kTypeCount][kTypeCount] = {};
};

void RegisterIntegerFunctions(Registry& registry);
void RegisterFloatFunctions(Registry& registry);
void RegisterFloatMathFunctions(Registry& registry);
void RegisterNumericFunctions(Registry& registry);
void RegisterBooleanFunctions(Registry& registry);
void RegisterTextFunctions(Registry& registry);
void RegisterTextEditFunctions(Registry& registry);
void RegisterFormatFunctions(Registry& registry);
void RegisterPatternFunctions(Registry& registry);
void RegisterRegexFunctions(Registry& registry);
void RegisterByteaFunctions(Registry& registry);
void RegisterUuidFunctions(Registry& registry);
void RegisterDateTimeOperators(Registry& registry);
void RegisterDateTimeFunctions(Registry& registry);
void RegisterToCharFunctions(Registry& registry);
void RegisterSessionFunctions(Registry& registry);
void RegisterSequenceFunctions(Registry& registry);
void RegisterNumberCasts(Registry& registry);
void RegisterTextCasts(Registry& registry);
void RegisterDateTimeCasts(Registry& registry);
void RegisterCountAggregates(Registry& registry);
void RegisterSumAggregates(Registry& registry);
void RegisterExtremeAggregates(Registry& registry);
void RegisterVarianceAggregates(Registry& registry);
void RegisterLogicAggregates(Registry& registry);
void RegisterStringAggregates(Registry& registry);
void RegisterSetFunctions(Registry& registry);

}  // namespace sisal::function
