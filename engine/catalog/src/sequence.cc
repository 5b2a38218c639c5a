#include "sisal/catalog/sequence.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "sisal/base/bytes.h"
#include "sisal/base/simulation.h"
#include "sisal/catalog/catalog.h"

namespace sisal::catalog {
namespace {

constexpr uint8_t kValueVersion = 1;

// The value after `last`; false: there is none, and the sequence does not cycle.
bool Step(const Sequence& sequence, int64_t& last) {
  int64_t next;
  const bool outside = __builtin_add_overflow(last, sequence.increment, &next) ||
                       (sequence.increment > 0 ? next > sequence.max : next < sequence.min);
  if (outside && !sequence.cycle) return false;
  last = !outside ? next : sequence.increment > 0 ? sequence.min : sequence.max;
  return true;
}

}  // namespace

Error SequenceEnds(const Sequence& sequence) {
  const bool up = sequence.increment > 0;
  return Error("2200H", std::string("nextval: reached ") + (up ? "maximum" : "minimum") + " value of sequence \"" +
                            sequence.name + "\" (" + std::to_string(up ? sequence.max : sequence.min) + ")");
}

uint64_t Advance(const Sequence& sequence, uint64_t count, SequenceValue& value, int64_t* out) {
  for (uint64_t i = 0; i < count; ++i) {
    if (value.called && !Step(sequence, value.last)) return i;
    value.called = true;
    if (out != nullptr) out[i] = value.last;
  }
  return count;
}

std::string SequenceKey(TreeId generation) {
  const uint32_t big_endian = __builtin_bswap32(generation.value);
  return std::string(reinterpret_cast<const char*>(&big_endian), sizeof(big_endian));
}

std::string EncodeSequenceValue(const SequenceValue& value) {
  std::string out;
  AppendLittle(out, kValueVersion);
  AppendLittle(out, value.last);
  AppendLittle(out, static_cast<uint8_t>(value.called));
  return out;
}

Result<SequenceValue> DecodeSequenceValue(std::string_view bytes) {
  ByteReader reader(bytes);
  uint8_t version = 0, called = 0;
  SequenceValue value;
  if (!reader.ReadLittle(version) || version != kValueVersion || !reader.ReadLittle(value.last) ||
      !reader.ReadLittle(called) || called > 1 || !reader.empty()) {
    return Error("XX001", "the value of a sequence is malformed");
  }
  value.called = called != 0;
  return value;
}

Status PutSequenceValue(txn::Transaction& transaction, const Sequence& sequence, const SequenceValue& value) {
  return transaction.Put(kSequenceTree, SequenceKey(sequence.generation), EncodeSequenceValue(value));
}

namespace {

// In the log, in a transaction of its own, when this returns; not yet durable. Suspends.
Result<Timestamp> LogValue(txn::Store& store, const Sequence& sequence, const SequenceValue& value) {
  if (SISAL_PLANTED(kSequenceNotLogged)) return Timestamp();
  const std::unique_ptr<txn::Transaction> transaction = store.Begin({});
  SISAL_RETURN_IF_ERROR(PutSequenceValue(*transaction, sequence, value));
  txn::CommitOptions options;
  options.wait = false;
  SISAL_ASSIGN_OR_RETURN(const txn::CommitResult result, transaction->Commit(options));
  return result.position;
}

}  // namespace

Status SequenceState::Take(txn::Store& store, const Sequence& sequence, std::span<int64_t> values, size_t& taken,
                           Timestamp& logged) {
  const auto take = [&]() -> Status {
    taken = Advance(sequence, std::min<uint64_t>(values.size(), logged_count_ - taken_count_), value_, values.data());
    taken_count_ += taken;
    logged = logged_;
    return Status();
  };
  {
    std::lock_guard lock(latch_);
    if (logged_count_ - taken_count_ >= values.size()) return take();
  }
  io::MutexLock writing(writing_);
  for (;;) {
    SequenceValue block;
    uint64_t steps, target;
    {
      std::lock_guard lock(latch_);
      const uint64_t ahead = logged_count_ - taken_count_;
      if (ahead >= values.size()) return take();
      block = value_;
      steps = Advance(sequence, values.size() + kLoggedAhead, block, nullptr);
      if (steps == 0) return SequenceEnds(sequence);
      if (steps == ahead) return take();  // the last ones
      target = taken_count_ + steps;
    }
    // Others may take what is left of the last block meanwhile: they move on within this one.
    SISAL_ASSIGN_OR_RETURN(const Timestamp position, LogValue(store, sequence, block));
    SISAL_SIM_POINT();
    std::lock_guard lock(latch_);
    logged_count_ = target;
    logged_ = position;
  }
}

Status SequenceState::Set(txn::Store& store, const Sequence& sequence, const SequenceValue& value, Timestamp& logged) {
  io::MutexLock writing(writing_);
  SISAL_ASSIGN_OR_RETURN(logged, LogValue(store, sequence, value));
  std::lock_guard lock(latch_);
  value_ = value;
  logged_count_ = taken_count_;
  logged_ = logged;
  return Status();
}

SequenceState::View SequenceState::Look() const {
  std::lock_guard lock(latch_);
  return {value_, logged_count_ - taken_count_};
}

}  // namespace sisal::catalog
