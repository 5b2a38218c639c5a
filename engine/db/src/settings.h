// What SET changes: one table of names, defaults and checks (PostgreSQL manual, chapter 20).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sisal/base/clock.h"
#include "sisal/base/status.h"
#include "sisal/txn/transaction.h"
#include "sisal/type/datum.h"

namespace sisal::db {

class Settings {
 public:
  explicit Settings(txn::Isolation default_isolation);

  // Errors: 42704 unknown, 22023 bad value, 0A000 a value that only PostgreSQL takes, 55P02 cannot be changed.
  Status Set(std::string_view name, std::string_view value);
  Status Reset(std::string_view name);
  void ResetAll();
  Result<std::string> Show(std::string_view name) const;

  const type::TextSettings& text() const { return text_; }
  const std::vector<std::string>& search_path() const { return search_path_; }
  txn::Isolation default_isolation() const { return default_isolation_; }
  bool default_read_only() const { return default_read_only_; }
  Duration statement_timeout() const { return statement_timeout_; }  // zero: none
  Duration lock_timeout() const { return lock_timeout_; }            // zero: none
  // Of what changes a plan.
  uint64_t PlanHash() const { return plan_hash_; }

 private:
  Status Apply(const std::string& name, std::string_view value);
  Status SetTimeZone(std::string_view value);
  Status SetSearchPath(std::string_view value);

  std::map<std::string, std::string, std::less<>> changed_;  // name -> value, as shown
  type::TextSettings text_;
  std::vector<std::string> search_path_;
  txn::Isolation initial_isolation_, default_isolation_;
  bool default_read_only_ = false;
  Duration statement_timeout_{0};
  Duration lock_timeout_{0};
  uint64_t plan_hash_ = 0;
};

// "read committed", "repeatable read" or "serializable".
std::string_view IsolationName(txn::Isolation isolation);
// 22023 if it is none of those (or "snapshot").
Result<txn::Isolation> ParseIsolation(std::string_view name);

}  // namespace sisal::db
