// boolean: comparison. AND, OR and NOT are expressions of the executor.
#include "comparison.h"
#include "registry.h"

namespace sisal::function {

void RegisterBooleanFunctions(Registry& registry) {
  RegisterComparisons<IntegerOrder, int64_t>(registry, type::TypeId::kBoolean, type::TypeId::kBoolean);
}

}  // namespace sisal::function
