#include "settings.h"

#include <algorithm>
#include <charconv>
#include <functional>

namespace sisal::db {

namespace {

struct Known {
  std::string_view name, initial;
  // Values that may be set; empty: checked by Apply. What PostgreSQL would take beside them is refused with 0A000.
  std::vector<std::string_view> accepted;
};

const std::vector<Known>& KnownSettings() {
  static const std::vector<Known> table = {
      {"application_name", "", {}},
      {"bytea_output", "hex", {"hex"}},
      {"client_encoding", "UTF8", {"utf8", "utf-8", "unicode"}},
      {"client_min_messages", "notice", {"notice"}},
      {"datestyle", "ISO, MDY", {"iso", "iso, mdy", "iso,mdy"}},
      {"default_transaction_isolation", "", {}},
      {"default_transaction_read_only", "off", {}},
      {"extra_float_digits", "1", {"1", "2", "3"}},
      {"intervalstyle", "postgres", {"postgres"}},
      {"lock_timeout", "0", {}},
      {"search_path", "public", {}},
      {"standard_conforming_strings", "on", {"on", "true", "yes", "1"}},
      {"statement_timeout", "0", {}},
      {"timezone", "UTC", {}},
  };
  return table;
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return lower;
}

const Known* FindKnown(std::string_view name) {
  const auto& table = KnownSettings();
  const auto it = std::find_if(table.begin(), table.end(), [&](const Known& k) { return k.name == name; });
  return it == table.end() ? nullptr : &*it;
}

Error BadValue(std::string_view name, std::string_view value) {
  return Error("22023", "invalid value for parameter \"" + std::string(name) + "\": \"" + std::string(value) + "\"");
}

Result<bool> ParseBool(std::string_view name, std::string_view value) {
  const std::string lower = Lower(value);
  for (std::string_view yes : {"on", "true", "yes", "1"}) {
    if (lower == yes) return true;
  }
  for (std::string_view no : {"off", "false", "no", "0"}) {
    if (lower == no) return false;
  }
  return Error("22023", "parameter \"" + std::string(name) + "\" requires a Boolean value");
}

// "1500", "1500ms", "2s", "1min", "1h": milliseconds without a unit.
Result<Duration> ParseDuration(std::string_view name, std::string_view value) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  std::string unit(end, value.data() + value.size());
  unit.erase(std::remove(unit.begin(), unit.end(), ' '), unit.end());
  if (error != std::errc() || number < 0 || number > 2147483647) return BadValue(name, value);
  if (unit.empty() || unit == "ms") return Duration(std::chrono::milliseconds(number));
  if (unit == "us") return Duration(std::chrono::microseconds(number));
  if (unit == "s") return Duration(std::chrono::seconds(number));
  if (unit == "min") return Duration(std::chrono::minutes(number));
  if (unit == "h") return Duration(std::chrono::hours(number));
  return BadValue(name, value)
      .WithHint("Valid units for this parameter are \"us\", \"ms\", \"s\", \"min\", and \"h\".");
}

}  // namespace

std::string_view IsolationName(txn::Isolation isolation) {
  switch (isolation) {
    case txn::Isolation::kReadCommitted:
      return "read committed";
    case txn::Isolation::kSnapshot:
      return "repeatable read";
    case txn::Isolation::kSerializable:
      return "serializable";
  }
  return "";
}

Result<txn::Isolation> ParseIsolation(std::string_view name) {
  const std::string lower = Lower(name);
  if (lower == "read committed" || lower == "read uncommitted") return txn::Isolation::kReadCommitted;
  if (lower == "repeatable read" || lower == "snapshot") return txn::Isolation::kSnapshot;
  if (lower == "serializable") return txn::Isolation::kSerializable;
  return BadValue("transaction_isolation", name);
}

Settings::Settings(txn::Isolation default_isolation) : initial_isolation_(default_isolation) { ResetAll(); }

void Settings::ResetAll() {
  changed_.clear();
  text_ = {};
  search_path_ = {"public"};
  default_isolation_ = initial_isolation_;
  default_read_only_ = false;
  statement_timeout_ = lock_timeout_ = Duration(0);
  plan_hash_ = 0;
}

Status Settings::Set(std::string_view name, std::string_view value) {
  const std::string key = Lower(name);
  const Known* known = FindKnown(key);
  if (known == nullptr) {
    return Error("42704", "unrecognized configuration parameter \"" + std::string(name) + "\"");
  }
  if (!known->accepted.empty()) {
    const std::string lower = Lower(value);
    if (std::find(known->accepted.begin(), known->accepted.end(), lower) == known->accepted.end()) {
      return Error("0A000", "value \"" + std::string(value) + "\" of parameter \"" + key + "\" is not supported");
    }
    return Status();
  }
  SISAL_RETURN_IF_ERROR(Apply(key, value));
  changed_[key] = std::string(value);
  plan_hash_ = 0;
  for (std::string_view plan_setting : {"search_path", "timezone"}) {
    const auto it = changed_.find(plan_setting);
    if (it != changed_.end()) plan_hash_ = plan_hash_ * 31 + std::hash<std::string>()(it->second);
  }
  return Status();
}

Status Settings::Reset(std::string_view name) {
  const std::string key = Lower(name);
  const Known* known = FindKnown(key);
  if (known == nullptr) {
    return Error("42704", "unrecognized configuration parameter \"" + std::string(name) + "\"");
  }
  if (!known->accepted.empty()) return Status();
  const bool isolation = key == "default_transaction_isolation";
  SISAL_RETURN_IF_ERROR(Set(key, isolation ? IsolationName(initial_isolation_) : known->initial));
  changed_.erase(key);
  return Status();
}

Result<std::string> Settings::Show(std::string_view name) const {
  const std::string key = Lower(name);
  if (key == "server_version") return std::string("15.0");
  if (key == "server_encoding") return std::string("UTF8");
  if (key == "default_transaction_isolation") return std::string(IsolationName(default_isolation_));
  const Known* known = FindKnown(key);
  if (known == nullptr) {
    return Error("42704", "unrecognized configuration parameter \"" + std::string(name) + "\"");
  }
  const auto it = changed_.find(key);
  return it == changed_.end() ? std::string(known->initial) : it->second;
}

Status Settings::Apply(const std::string& name, std::string_view value) {
  if (name == "timezone") return SetTimeZone(value);
  if (name == "search_path") return SetSearchPath(value);
  if (name == "default_transaction_isolation") {
    SISAL_ASSIGN_OR_RETURN(default_isolation_, ParseIsolation(value));
  } else if (name == "default_transaction_read_only") {
    SISAL_ASSIGN_OR_RETURN(default_read_only_, ParseBool(name, value));
  } else if (name == "statement_timeout") {
    SISAL_ASSIGN_OR_RETURN(statement_timeout_, ParseDuration(name, value));
  } else if (name == "lock_timeout") {
    SISAL_ASSIGN_OR_RETURN(lock_timeout_, ParseDuration(name, value));
  }
  return Status();
}

// UTC and fixed offsets: "UTC", "GMT", "+02:00", "-3". There is no table of zones yet.
Status Settings::SetTimeZone(std::string_view value) {
  const std::string lower = Lower(value);
  if (lower == "utc" || lower == "gmt" || lower == "etc/utc" || lower == "z" || lower == "default") {
    text_.time_zone = "UTC";
    text_.time_zone_offset_seconds = 0;
    return Status();
  }
  std::string_view rest = value;
  const bool negative = !rest.empty() && rest.front() == '-';
  if (!rest.empty() && (rest.front() == '+' || rest.front() == '-')) rest.remove_prefix(1);
  int hours = 0, minutes = 0;
  auto parsed = std::from_chars(rest.data(), rest.data() + rest.size(), hours);
  const char* end = rest.data() + rest.size();
  if (parsed.ec == std::errc() && parsed.ptr != end && *parsed.ptr == ':') {
    parsed = std::from_chars(parsed.ptr + 1, end, minutes);
  }
  if (parsed.ec != std::errc() || parsed.ptr != end || hours > 15 || hours < 0 || minutes < 0 || minutes > 59) {
    return Error("0A000", "time zone \"" + std::string(value) + "\" is not supported: UTC and fixed offsets are");
  }
  text_.time_zone = std::string(value);
  text_.time_zone_offset_seconds = (negative ? -1 : 1) * (hours * 3600 + minutes * 60);
  return Status();
}

Status Settings::SetSearchPath(std::string_view value) {
  std::vector<std::string> path;
  size_t start = 0;
  while (start <= value.size()) {
    const size_t comma = std::min(value.find(',', start), value.size());
    std::string item(value.substr(start, comma - start));
    item.erase(0, item.find_first_not_of(" \"'"));
    item.erase(item.find_last_not_of(" \"'") + 1);
    if (!item.empty()) path.push_back(item == "$user" ? "public" : item);
    start = comma + 1;
  }
  if (path.empty()) return BadValue("search_path", value);
  search_path_ = std::move(path);
  return Status();
}

}  // namespace sisal::db
