// One ordered tree: keys in memcmp order, for each the newest committed version of its row, or a tombstone.
//
// This is the interface that the B-link tree over pages will keep. Older versions, uncommitted data and snapshots are
// not its business: engine/txn keeps those in memory and only committed entries come here.
//
// Concurrency: thread-safe; each call is one short section under a latch and never parks.
// Invariant:   keys are unique and ascending; an entry's begin timestamp never decreases.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "sisal/base/arena.h"
#include "sisal/base/ids.h"
#include "sisal/base/status.h"

namespace sisal::btree {

// A view of one entry; whoever hands it out says how long it lasts.
struct Entry {
  Timestamp begin;  // of the commit that wrote it
  bool tombstone =
      false;  // the key was deleted then; kept for as long as a snapshot may have to look for older versions
  std::string_view key, value;
  bool too_long = false;  // Get only: the value was not copied, as it has more bytes than the caller takes
};

struct TreeStats {
  uint64_t entries = 0;  // tombstones included
  uint64_t tombstones = 0;
  uint64_t bytes = 0;  // keys, values and their overhead
};

class Tree {
 public:
  virtual ~Tree() = default;

  // False: no entry. Fills begin and tombstone of `entry`, and its value only if begin <= `visible` (a newer value is
  // not for that reader) and it has at most `bytes_max`; the value lies in `arena`, the key is the argument.
  virtual bool Get(std::string_view key, Timestamp visible, size_t bytes_max, Arena& arena, Entry& entry) const = 0;
  bool Get(std::string_view key, Timestamp visible, Arena& arena, Entry& entry) const {
    return Get(key, visible, SIZE_MAX, arena, entry);
  }
  // The entry's begin timestamp; nullopt: no entry.
  virtual std::optional<Timestamp> Begin(std::string_view key) const = 0;

  // Appends copies of up to `limit` entries to `entries`, bytes in `arena`, in key order from `from` (exclusive if
  // `after`) up to `upper` (exclusive; nullopt: to the end). Stops early after 16 KiB, so that a section stays short.
  // True: the range is exhausted. Resume after the last key that was returned.
  virtual bool ScanForward(std::string_view from, bool after, std::optional<std::string_view> upper, size_t limit,
                           Arena& arena, std::vector<Entry>& entries) const = 0;
  // The same downwards, from below `below` (nullopt: from the end) down to `lower`, inclusive.
  virtual bool ScanBackward(std::optional<std::string_view> below, std::string_view lower, size_t limit, Arena& arena,
                            std::vector<Entry>& entries) const = 0;

  // Makes `value` (nullopt: a tombstone) the newest version of `key`. If the key has an entry, `before` sees it first,
  // inside the section: whoever reads the new entry finds what `before` has stored. A tombstone for a key without entry
  // leaves nothing. Callers see to it that no two write one key at the same time.
  // Requires: begin is not below the present entry's; `before` does not suspend nor call this tree.
  virtual void Put(std::string_view key, Timestamp begin, std::optional<std::string_view> value,
                   absl::FunctionRef<void(const Entry&)> before) = 0;
  // Removes the entry if `decide` says so, inside the section. False: it stays, or there is none.
  // Requires: as for `before` of Put.
  virtual bool RemoveIf(std::string_view key, absl::FunctionRef<bool(const Entry&)> decide) = 0;

  // Takes over all entries of `parts`, which are empty afterwards. `pause` is called now and then, holding nothing; it
  // may suspend. Requires: nobody else uses any of these trees; they are of one kind; this one is empty and no key is
  // in two parts.
  virtual void Absorb(std::span<Tree* const> parts, absl::FunctionRef<void()> pause) = 0;

  // Frees up to `count` entries of a tree that nobody uses any more; returns how many.
  virtual size_t Discard(size_t count) = 0;

  virtual TreeStats Stats() const = 0;
  // XX000 with what is broken. O(entries), under the latch: for tests.
  virtual Status CheckInvariants() const = 0;
};

// An ordered map in memory, rebuilt from the log at each start.
std::unique_ptr<Tree> MakeMemoryTree();

}  // namespace sisal::btree
