// string_agg() of text and bytea.
#include "aggregate.h"

namespace sisal::function {
namespace {

using enum type::TypeId;

// Each value with its delimiter before it; the first delimiter is kept for merges and left out of the result.
struct Joined {
  ArenaString text;
  uint64_t first_delimiter_bytes;
  bool seen;

  Status Append(std::string_view bytes, Arena& arena) {
    constexpr uint64_t kBytesMax = (uint64_t{1} << 30) - 1;  // PostgreSQL's limit of one value
    if (text.size + bytes.size() >= kBytesMax) {
      return Error("54000", "out of memory")
          .WithDetail("Cannot enlarge string buffer containing " + std::to_string(text.size) + " bytes by " +
                      std::to_string(bytes.size()) + " more bytes.");
    }
    text.Append(bytes, arena);
    return Status();
  }
  Status Add(std::string_view delimiter, std::string_view value, Arena& arena) {
    if (!seen) {
      first_delimiter_bytes = delimiter.size();
      seen = true;
    }
    SISAL_RETURN_IF_ERROR(Append(delimiter, arena));
    return Append(value, arena);
  }
  Status Merge(const Joined& from, Arena& arena) {
    if (!from.seen) return Status();
    if (!seen) {
      first_delimiter_bytes = from.first_delimiter_bytes;
      seen = true;
    }
    return Append(from.text.view(), arena);
  }
  Status Finish(uint32_t at, type::Vector& out, Arena&) const {
    if (seen) {
      out.bytes[at] = text.view().substr(first_delimiter_bytes);
    } else {
      out.SetNull(at);
    }
    return Status();
  }
};

// A NULL value is left out; a NULL delimiter is an empty one.
Status AddStrings(const Call& call, std::span<char* const> states) {
  for (uint32_t i = 0; i < call.rows.count; ++i) {
    const uint32_t row = call.rows[i];
    if (call.args[0].IsNull(row)) continue;
    const std::string_view delimiter = call.args[1].IsNull(row) ? std::string_view() : call.args[1].Bytes(row);
    SISAL_RETURN_IF_ERROR(reinterpret_cast<Joined*>(states[i])->Add(delimiter, call.args[0].Bytes(row), call.arena));
  }
  return Status();
}

}  // namespace

void RegisterStringAggregates(Registry& registry) {
  for (const type::TypeId id : {kText, kBytea}) {
    Aggregate& entry = registry.AddAggregate(MakeAggregate<Joined>("string_agg", id, id, AddStrings));
    entry.arguments = {id, id};
    entry.skip_nulls = false;
    entry.ordered_input = true;
  }
}

}  // namespace sisal::function
