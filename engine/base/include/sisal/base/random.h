// Randomness comes in through this interface, so that a run repeats from its seed.
#pragma once

#include <cstdint>
#include <optional>

namespace sisal {

// xoshiro256** seeded by splitmix64 (Blackman & Vigna, "Scrambled linear pseudorandom number generators", 2021).
// Externally synchronised. Not for secrets: see SecureRandomBytes.
class Random {
 public:
  explicit Random(uint64_t seed);
  uint64_t Next();
  // Uniform in [0, bound). Requires: bound > 0.
  uint64_t Below(uint64_t bound);
  // Uniform in [0, 1).
  double Fraction() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }
  // True once in `n` draws on average.
  bool OneIn(uint64_t n) { return Below(n) == 0; }

 private:
  uint64_t state_[4];
};

// Seeded from the kernel's generator at its first use: most statements draw no number, and a seed costs a system call.
class LazyRandom {
 public:
  LazyRandom() = default;
  explicit LazyRandom(uint64_t seed) : random_(seed) {}
  Random& Get();

 private:
  std::optional<Random> random_;
};

// Fills from the kernel's generator: keys, salts, server ids.
void SecureRandomBytes(void* out, unsigned long size_bytes);
uint64_t SecureRandom64();

}  // namespace sisal
