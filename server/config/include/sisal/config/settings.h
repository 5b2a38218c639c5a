// What an operator may set: one table (settings_table.cc) gives the flags, the environment's names, the file's keys,
// the help, --print-config and AdminService.ListSettings.
//
// A flag beats the environment (SISAL_*), which beats the file (--config, TOML), which beats the default. Immutable
// once loaded.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sisal/base/status.h"

namespace sisal::config {

struct Settings {
  std::string data_dir;
  std::string listen = "127.0.0.1:7433";
  std::string http_listen = "127.0.0.1:7434";
  std::string ready_file;
  std::string log_format = "text";
  std::string log_level = "info";
  uint64_t loops = 0;
  std::string io_backend = "auto";
  std::string durability = "full";
  std::string default_transaction_isolation = "repeatable read";
  uint64_t wal_segment_bytes = 64 << 20;
  uint64_t wal_max_bytes = 0;
  uint64_t statement_memory_bytes = 256 << 20;
  uint64_t transaction_bytes = 1 << 30;
  uint64_t plan_cache_entries = 4096;
  uint64_t idempotency_window_seconds = 24 * 3600;
  uint64_t idempotency_bytes = 64 << 20;
  uint64_t transactions_count = 10'000;
  uint64_t calls_count = 20'000;
  uint64_t idle_timeout_ms = 30'000;
  uint64_t transaction_lifetime_ms = 300'000;
  uint64_t blocking_timeout_ms = 5'000;
  uint64_t request_bytes = 16 << 20;
  uint64_t grpc_memory_bytes = 1 << 30;
  uint64_t reader_stall_ms = 60'000;
  uint64_t drain_ms = 25'000;
  uint64_t connection_age_seconds = 1'800;
  bool reflection = true;
};

struct SettingSpec {
  std::string_view name;  // the file's key; --name with - for _; SISAL_NAME in capitals
  std::variant<std::string Settings::*, uint64_t Settings::*, bool Settings::*> member;
  std::string_view unit;         // bytes, ms, seconds, count; empty: none
  std::string_view description;  // one sentence
  std::string_view choices;      // "a|b": nothing else is taken; empty: anything
  uint64_t min = 0, max = UINT64_MAX;
};
std::span<const SettingSpec> SettingsTable();

// The value in the form that Set takes.
std::string Get(const Settings& settings, const SettingSpec& spec);
// Sizes may end in KiB, MiB, GiB. Errors: 22023.
Status Set(const SettingSpec& spec, std::string_view text, Settings& settings);

// Reads `text` (TOML) over `settings`. Errors: 22023; unknown keys are errors. `path` is for messages.
Status ApplyToml(std::string_view text, const std::string& path, Settings& settings);

// All settings as a TOML file that --config reads back.
std::string Print(const Settings& settings);

struct CommandLine {
  enum class Action { kRun, kPrintConfig, kExit } action = Action::kRun;
  Settings settings;
  std::string output;  // kExit: what to print (--help, --version); kPrintConfig: the settings
};
// `environment` as environ gives it: "NAME=value". Errors: 22023 with all that a user needs to mend it.
Result<CommandLine> Load(const std::vector<std::string>& arguments, const std::vector<std::string>& environment);

// "HOST:PORT" in two. Errors: 22023.
struct HostPort {
  std::string host;
  uint16_t port = 0;
};
Result<HostPort> ParseHostPort(std::string_view text);

}  // namespace sisal::config
