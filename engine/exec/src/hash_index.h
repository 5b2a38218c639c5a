// Byte keys to numbers in the order of their first appearance: the table under groups, DISTINCT, set operations, joins.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <string_view>

#include "state.h"

namespace sisal::exec {

// Confined.
class HashIndex {
 public:
  explicit HashIndex(MemoryTracker& memory) : memory_(memory) {}
  ~HashIndex() { memory_.Release(charged_bytes_); }
  HashIndex(const HashIndex&) = delete;
  HashIndex& operator=(const HashIndex&) = delete;

  static constexpr uint32_t kNone = ~uint32_t{0};
  uint32_t Find(std::string_view key) const {
    const auto it = numbers_.find(key);
    return it == numbers_.end() ? kNone : it->second;
  }
  // The key's number; `added` tells whether it is new. Errors: 53200.
  Result<uint32_t> FindOrAdd(std::string_view key, bool& added) {
    if (const uint32_t known = Find(key); known != kNone) return added = false, known;
    const uint32_t number = static_cast<uint32_t>(numbers_.size());
    numbers_.emplace(keys_.Copy(key), number);
    added = true;
    const uint64_t held = keys_.footprint_bytes() + numbers_.capacity() * 40;
    if (held > charged_bytes_) {
      SISAL_RETURN_IF_ERROR(memory_.Charge(held - charged_bytes_));
      charged_bytes_ = held;
    }
    return number;
  }
  uint32_t size() const { return static_cast<uint32_t>(numbers_.size()); }
  void Clear() {
    numbers_.clear();
    keys_.Reset();
  }

 private:
  MemoryTracker& memory_;
  Arena keys_{16 << 10};
  absl::flat_hash_map<std::string_view, uint32_t> numbers_;
  uint64_t charged_bytes_ = 0;
};

}  // namespace sisal::exec
