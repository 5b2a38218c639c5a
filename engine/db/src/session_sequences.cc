#include "session_sequences.h"

#include <algorithm>

#include "session.h"
#include "sisal/catalog/relation_name.h"

namespace sisal::db {

namespace {

ObjectId IdOf(int64_t id) { return ObjectId{static_cast<uint32_t>(id)}; }

}  // namespace

SessionSequences::Known& SessionSequences::KnownOf(ObjectId id) {
  const auto found = std::find_if(known_.begin(), known_.end(), [&](const Known& known) { return known.id == id; });
  if (found != known_.end()) return *found;
  known_.push_back({.id = id, .has_last = false, .last = 0, .generation = {}, .ahead = {}});
  return known_.back();
}

Result<int64_t> SessionSequences::Find(std::string_view name) {
  SISAL_ASSIGN_OR_RETURN(const catalog::SequencePtr sequence,
                         catalog::FindSequenceNamed(*session_.Root(), session_.settings().search_path(), name));
  return int64_t{sequence->id.value};
}

Result<catalog::SequencePtr> SessionSequences::Use(int64_t id, const char* function) {
  OpenTransaction& open = *session_.open();
  if (open.options.read_only) {
    return Error("25006", std::string("cannot execute ") + function + " in a read-only transaction");
  }
  // Our own DDL holds the lock exclusively, and may still be undone to a savepoint: not to be remembered.
  const bool own = open.changes != nullptr && open.changes->Touches(IdOf(id));
  if (!own) {
    for (const catalog::SequencePtr& locked : open.sequences) {
      if (locked->id == IdOf(id)) return locked;
    }
  }
  const catalog::SequencePtr bound = session_.Root()->FindSequence(IdOf(id));
  if (bound == nullptr) return Error("42P01", "the sequence does not exist any more");
  if (own) return bound;
  SISAL_ASSIGN_OR_RETURN(
      const catalog::SequencePtr sequence,
      session_.engine().catalog->LockSequence(*open.txn, open.changes.get(), *bound, txn::LockMode::kShared));
  open.sequences.push_back(sequence);
  return sequence;
}

Status SessionSequences::Take(const catalog::Sequence& sequence, std::span<int64_t> values) {
  size_t taken = 0;
  Timestamp logged;
  SISAL_RETURN_IF_ERROR(sequence.state->Take(*session_.engine().store, sequence, values, taken, logged));
  session_.open()->txn->DependOn(logged);
  return taken == values.size() ? Status() : Status(catalog::SequenceEnds(sequence));
}

// CACHE: a session takes several values at once, and gives them one by one.
Status SessionSequences::TakeCached(const catalog::Sequence& sequence, std::span<int64_t> values, Known& known) {
  if (known.generation != sequence.generation) known.ahead.clear();
  known.generation = sequence.generation;
  constexpr int64_t kAheadMax = 1 << 16;  // of a larger CACHE
  for (int64_t& value : values) {
    if (known.ahead.empty()) {
      std::vector<int64_t> block(static_cast<size_t>(std::min(sequence.cache, kAheadMax)));
      size_t taken = 0;
      Timestamp logged;
      SISAL_RETURN_IF_ERROR(sequence.state->Take(*session_.engine().store, sequence, block, taken, logged));
      session_.open()->txn->DependOn(logged);
      block.resize(taken);
      known.ahead.assign(block.rbegin(), block.rend());
    }
    value = known.ahead.back();
    known.ahead.pop_back();
  }
  return Status();
}

Status SessionSequences::Next(int64_t id, std::span<int64_t> values) {
  if (values.empty()) return Status();
  SISAL_ASSIGN_OR_RETURN(const catalog::SequencePtr sequence, Use(id, "nextval()"));
  Known& known = KnownOf(sequence->id);
  SISAL_RETURN_IF_ERROR(sequence->cache > 1 ? TakeCached(*sequence, values, known) : Take(*sequence, values));
  known.last = values.back();
  known.has_last = true;
  last_used_ = sequence->id;
  return Status();
}

Status SessionSequences::Set(int64_t id, int64_t value, bool called) {
  SISAL_ASSIGN_OR_RETURN(const catalog::SequencePtr sequence, Use(id, "setval()"));
  if (value < sequence->min || value > sequence->max) {
    return Error("22003", "setval: value " + std::to_string(value) + " is out of bounds for sequence \"" +
                              sequence->name + "\" (" + std::to_string(sequence->min) + ".." +
                              std::to_string(sequence->max) + ")");
  }
  Timestamp logged;
  SISAL_RETURN_IF_ERROR(sequence->state->Set(*session_.engine().store, *sequence, {value, called}, logged));
  session_.open()->txn->DependOn(logged);
  Known& known = KnownOf(sequence->id);
  known.ahead.clear();
  if (!called) return Status();
  known.last = value;
  known.has_last = true;
  return Status();
}

Result<int64_t> SessionSequences::Current(int64_t id) {
  const catalog::SequencePtr sequence = session_.Root()->FindSequence(IdOf(id));
  if (sequence == nullptr) return Error("42P01", "the sequence does not exist any more");
  const Known& known = KnownOf(sequence->id);
  if (known.has_last) return known.last;
  return Error("55000", "currval of sequence \"" + sequence->name + "\" is not yet defined in this session");
}

Result<int64_t> SessionSequences::Last() {
  if (last_used_ == ObjectId() || session_.Root()->FindSequence(last_used_) == nullptr) {
    return Error("55000", "lastval is not yet defined in this session");
  }
  return KnownOf(last_used_).last;
}

Result<std::string> SessionSequences::OwnedBy(std::string_view table_name, std::string_view column_name) {
  const catalog::RootPtr root = session_.Root();
  SISAL_ASSIGN_OR_RETURN(const catalog::TablePtr table,
                         catalog::FindTableNamed(*root, session_.settings().search_path(), table_name));
  const std::optional<uint32_t> column = table->FindColumn(column_name);
  if (!column.has_value()) {
    return Error("42703",
                 "column \"" + std::string(column_name) + "\" of relation \"" + table->name + "\" does not exist");
  }
  for (const ObjectId id : table->columns[*column].sequences) {
    const catalog::SequencePtr sequence = root->FindSequence(id);
    if (sequence == nullptr) continue;
    return catalog::QuotedName(sequence->schema) + "." + catalog::QuotedName(sequence->name);
  }
  return std::string();
}

}  // namespace sisal::db
