#include "sisal/base/random.h"

#include <sys/random.h>

#include <bit>
#include <cerrno>

#include "sisal/base/check.h"
#include "sisal/base/simulation.h"

namespace sisal {

Random::Random(uint64_t seed) {
  for (uint64_t& word : state_) {
    seed += 0x9e3779b97f4a7c15;
    uint64_t z = seed;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    word = z ^ (z >> 31);
  }
}

uint64_t Random::Next() {
  const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

uint64_t Random::Below(uint64_t bound) {
  SISAL_CHECK(bound > 0);
  // Lemire, "Fast random integer generation in an interval" (2019).
  unsigned __int128 product = static_cast<unsigned __int128>(Next()) * bound;
  if (static_cast<uint64_t>(product) < bound) {
    const uint64_t threshold = (0 - bound) % bound;
    while (static_cast<uint64_t>(product) < threshold) product = static_cast<unsigned __int128>(Next()) * bound;
  }
  return static_cast<uint64_t>(product >> 64);
}

void SecureRandomBytes(void* out, unsigned long size_bytes) {
  if (const SimulationHooks* hooks = internal::Hooks(); hooks != nullptr) return hooks->random_bytes(out, size_bytes);
  char* cursor = static_cast<char*>(out);
  while (size_bytes > 0) {
    const ssize_t got = getrandom(cursor, size_bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    SISAL_CHECK(got > 0);
    cursor += got;
    size_bytes -= static_cast<unsigned long>(got);
  }
}

uint64_t SecureRandom64() {
  uint64_t value;
  SecureRandomBytes(&value, sizeof(value));
  return value;
}

Random& LazyRandom::Get() {
  if (!random_.has_value()) random_.emplace(SecureRandom64());
  return *random_;
}

}  // namespace sisal
