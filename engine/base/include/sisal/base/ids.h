// Distinct types for numbers that must not mix.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <limits>

namespace sisal {

template <typename Tag, typename Rep = uint64_t>
struct StrongId {
  Rep value = 0;

  constexpr StrongId() = default;
  constexpr explicit StrongId(Rep v) : value(v) {}
  constexpr auto operator<=>(const StrongId&) const = default;
  static constexpr StrongId Max() { return StrongId(std::numeric_limits<Rep>::max()); }
};

// A byte offset in the log; never reused, never restarted.
using Lsn = StrongId<struct LsnTag>;
// When a commit happened: the LSN just past its record. A snapshot at T sees the commits with timestamp <= T.
using Timestamp = StrongId<struct TimestampTag>;
using TxnId = StrongId<struct TxnIdTag>;
// An ordered tree of the store: a table's rows, or an index.
using TreeId = StrongId<struct TreeIdTag, uint32_t>;
// A catalog object: table, index, sequence.
using ObjectId = StrongId<struct ObjectIdTag, uint32_t>;

}  // namespace sisal

template <typename Tag, typename Rep>
struct std::hash<sisal::StrongId<Tag, Rep>> {
  size_t operator()(const sisal::StrongId<Tag, Rep>& id) const { return std::hash<Rep>()(id.value); }
};
