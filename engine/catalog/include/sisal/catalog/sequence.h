// Sequences: what CREATE SEQUENCE fixes, and the values that are handed out, which belong to no transaction.
//
// A value is handed out from memory. Before that the log holds "values up to here are taken", in blocks: a record of
// its own little transaction that waits for no sync. Whatever makes use of a value is logged behind that record, so a
// log that is replayed in order never gives such a value again. Rows of kSequenceTree: generation -> SequenceValue.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "sisal/base/ids.h"
#include "sisal/base/status.h"
#include "sisal/io/sync.h"
#include "sisal/txn/store.h"
#include "sisal/type/sql_type.h"

namespace sisal::catalog {

struct SequenceValue {
  int64_t last = 1;
  bool called = false;  // `last` has been handed out; else it comes next
  bool operator==(const SequenceValue&) const = default;
};

class SequenceState;

// Immutable but for its state. A change that PostgreSQL undoes with its transaction (ALTER SEQUENCE, RESTART IDENTITY)
// makes another definition with a generation and a state of its own; CREATE and ALTER hold the object lock exclusively.
struct Sequence {
  ObjectId id;
  std::string schema;
  std::string name;
  type::TypeId type = type::TypeId::kBigint;
  int64_t start = 1, increment = 1, min = 1, max = INT64_MAX, cache = 1;
  bool cycle = false;
  ObjectId owner;         // the table whose column owns it (Column::sequences); 0: none
  TreeId generation;      // key of its row; never given twice
  SequenceValue initial;  // where the generation begins
  std::shared_ptr<SequenceState> state;
};
using SequencePtr = std::shared_ptr<const Sequence>;

// One generation's values. Thread-safe.
class SequenceState {
 public:
  explicit SequenceState(const SequenceValue& value) : value_(value) {}

  // The next `values.size()` values; `taken`, at least 1: how many of them there were before the end. The caller's
  // commit has to wait for `logged`, the record that covers them. Suspends. Errors: 2200H nothing is left; those of
  // txn::Transaction::Commit before anything was logged.
  Status Take(txn::Store& store, const Sequence& sequence, std::span<int64_t> values, size_t& taken, Timestamp& logged);
  // setval: not undone by a rollback. Requires: within the sequence's bounds. Suspends.
  Status Set(txn::Store& store, const Sequence& sequence, const SequenceValue& value, Timestamp& logged);

  struct View {
    SequenceValue value;
    uint64_t logged_ahead = 0;  // values that may be handed out before the next record
  };
  View Look() const;

 private:
  static constexpr uint64_t kLoggedAhead = 32;  // as PostgreSQL, whose gaps after a crash are no wider

  io::Mutex writing_;            // serialises records; held while one is written
  mutable io::SpinLatch latch_;  // guards all below
  SequenceValue value_;
  uint64_t taken_count_ = 0;   // values handed out
  uint64_t logged_count_ = 0;  // the same as the log has it: never less
  Timestamp logged_;           // the record that says so
};

Error SequenceEnds(const Sequence& sequence);  // 2200H of nextval
// Moves `value` on by up to `count` values and stores them in `out` if it is not null. Returns how many there were.
uint64_t Advance(const Sequence& sequence, uint64_t count, SequenceValue& value, int64_t* out);

// Puts the row of the sequence's generation, in `transaction`. Requires: nobody else can use the sequence, or the
// writer of SequenceState is the only one; no intent is needed.
Status PutSequenceValue(txn::Transaction& transaction, const Sequence& sequence, const SequenceValue& value);
std::string SequenceKey(TreeId generation);
std::string EncodeSequenceValue(const SequenceValue& value);
Result<SequenceValue> DecodeSequenceValue(std::string_view bytes);  // XX001

// What CREATE SEQUENCE and ALTER SEQUENCE say; absent: not said.
struct SequenceOptions {
  struct Bound {
    std::optional<int64_t> value;  // absent: NO MAXVALUE, NO MINVALUE, RESTART without a value
  };
  std::optional<type::TypeId> type;
  std::optional<int64_t> increment, start, cache;
  std::optional<Bound> min, max, restart;
  std::optional<bool> cycle;
};
// Makes a new sequence (`create`) or changes one, whose `initial` is its present value. Errors: 22023.
Status ApplySequenceOptions(const SequenceOptions& options, bool create, Sequence& sequence);

}  // namespace sisal::catalog
