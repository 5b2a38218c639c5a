// uuid: comparison and generation.
#include "comparison.h"
#include "kernel.h"
#include "registry.h"
#include "sisal/base/check.h"

namespace sisal::function {
namespace {

// Version 4 (RFC 9562, section 5.4): 122 random bits.
std::string_view GenerateUuid(Env& env) {
  SISAL_CHECK(env.context.random != nullptr);
  const uint64_t words[2] = {env.context.random->Next(), env.context.random->Next()};
  char* const bytes = static_cast<char*>(env.arena.Allocate(16, 1));
  std::memcpy(bytes, words, 16);
  bytes[6] = static_cast<char>((bytes[6] & 0x0F) | 0x40);
  bytes[8] = static_cast<char>((bytes[8] & 0x3F) | 0x80);
  return {bytes, 16};
}

}  // namespace

void RegisterUuidFunctions(Registry& registry) {
  using enum type::TypeId;
  RegisterComparisons<BytewiseOrder, std::string_view>(registry, kUuid, kUuid);
  registry.Scalar("gen_random_uuid", {}, kUuid, Map<[](Env& env) { return GenerateUuid(env); }>).volatility =
      Volatility::kVolatile;
}

}  // namespace sisal::function
