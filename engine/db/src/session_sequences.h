// What a session knows of sequences: the values that it got last, and those that CACHE let it take ahead.
//
// Confined to its session. Values and what is taken ahead live as long as the session does, whatever becomes of its
// transactions, as in PostgreSQL.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sisal/catalog/catalog.h"
#include "sisal/function/function.h"

namespace sisal::db {

class EngineSession;

class SessionSequences final : public function::Sequences {
 public:
  explicit SessionSequences(EngineSession& session) : session_(session) {}

  Result<int64_t> Find(std::string_view name) override;
  Status Next(int64_t id, std::span<int64_t> values) override;
  Status Set(int64_t id, int64_t value, bool called) override;
  Result<int64_t> Current(int64_t id) override;
  Result<int64_t> Last() override;
  Result<std::string> OwnedBy(std::string_view table, std::string_view column) override;

 private:
  struct Known {
    ObjectId id;
    bool has_last = false;
    int64_t last = 0;
    TreeId generation;           // that `ahead` is of
    std::vector<int64_t> ahead;  // taken and not given yet, the next one at the back
  };

  Known& KnownOf(ObjectId id);
  // Locks the sequence against DDL until the transaction ends. Errors: 25006, 42P01. Suspends.
  Result<catalog::SequencePtr> Use(int64_t id, const char* function);
  Status Take(const catalog::Sequence& sequence, std::span<int64_t> values);
  Status TakeCached(const catalog::Sequence& sequence, std::span<int64_t> values, Known& known);

  EngineSession& session_;
  std::vector<Known> known_;
  ObjectId last_used_;  // 0: none
};

}  // namespace sisal::db
