// uuid: comparison and generation.
#include "comparison.h"
#include "kernel.h"
#include "registry.h"
#include "sisal/base/random.h"

namespace sisal::function {
namespace {

// Version 4 (RFC 9562, section 5.4): 122 random bits, all of them the kernel's. A generator of ours that begins with 64
// of them in each session would give the same sequence twice after some billions of sessions.
std::string_view GenerateUuid(Env& env) {
  char* const bytes = static_cast<char*>(env.arena.Allocate(16, 1));
  SecureRandomBytes(bytes, 16);
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
