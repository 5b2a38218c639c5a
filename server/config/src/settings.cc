#include "sisal/config/settings.h"

#include <toml++/toml.h>

#include <charconv>
#include <sstream>

namespace sisal::config {
namespace {

Error Invalid(const SettingSpec& spec, std::string_view text, std::string_view wanted) {
  return Error{"22023", "invalid value for setting \"" + std::string(spec.name) + "\": \"" + std::string(text) +
                            "\" (" + std::string(wanted) + ")"};
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string NumberWanted(const SettingSpec& spec) {
  if (spec.unit == "bytes") return "a whole number is wanted, which KiB, MiB, GiB or TiB may follow without a blank";
  if (spec.unit == "count") return "a whole number is wanted";
  return "a whole number is wanted; its unit is " + std::string(spec.unit);
}

Result<uint64_t> ParseNumber(const SettingSpec& spec, std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string_view suffix(end, static_cast<size_t>(text.data() + text.size() - end));
  if (error != std::errc()) return Invalid(spec, text, NumberWanted(spec));
  int shift = 0;
  if (spec.unit == "bytes") {
    if (suffix == "KiB") shift = 10;
    if (suffix == "MiB") shift = 20;
    if (suffix == "GiB") shift = 30;
    if (suffix == "TiB") shift = 40;
    if (shift != 0) suffix = {};
  }
  if (!suffix.empty() || value > UINT64_MAX >> shift) return Invalid(spec, text, NumberWanted(spec));
  value <<= shift;
  if (value < spec.min || value > spec.max) {
    return Invalid(spec, text, "it must lie between " + std::to_string(spec.min) + " and " + std::to_string(spec.max));
  }
  return value;
}

// The value of a key in the form that Set takes. A file has types: a number where a name is wanted is a mistake.
Result<std::string> NodeText(const SettingSpec& spec, const toml::node& node) {
  const auto* text = node.as_string();
  if (std::holds_alternative<std::string Settings::*>(spec.member)) {
    if (text != nullptr) return text->get();
    return Error{"22023", "a string is wanted, in quotes"};
  }
  if (std::holds_alternative<bool Settings::*>(spec.member)) {
    if (const auto* flag = node.as_boolean()) return std::string(flag->get() ? "true" : "false");
    return Error{"22023", "true or false is wanted, without quotes"};
  }
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  if (text != nullptr && spec.unit == "bytes") return text->get();  // "64MiB"
  return Error{"22023", NumberWanted(spec)};
}

}  // namespace

std::string Get(const Settings& settings, const SettingSpec& spec) {
  if (const auto* text = std::get_if<std::string Settings::*>(&spec.member)) return settings.*(*text);
  if (const auto* flag = std::get_if<bool Settings::*>(&spec.member)) return settings.*(*flag) ? "true" : "false";
  return std::to_string(settings.*std::get<uint64_t Settings::*>(spec.member));
}

Status Set(const SettingSpec& spec, std::string_view text, Settings& settings) {
  if (const auto* flag = std::get_if<bool Settings::*>(&spec.member)) {
    if (text != "true" && text != "false") return Invalid(spec, text, "true or false");
    settings.*(*flag) = text == "true";
    return Status();
  }
  if (const auto* number = std::get_if<uint64_t Settings::*>(&spec.member)) {
    SISAL_ASSIGN_OR_RETURN(settings.*(*number), ParseNumber(spec, text));
    return Status();
  }
  // The system's calls would take what is before it.
  if (text.find('\0') != std::string_view::npos) return Invalid(spec, "...", "it holds a zero byte");
  if (!spec.choices.empty()) {
    bool known = false;
    for (const std::string_view choice : Split(spec.choices, '|')) known = known || choice == text;
    if (!known) return Invalid(spec, text, spec.choices);
  }
  settings.*std::get<std::string Settings::*>(spec.member) = std::string(text);
  return Status();
}

Status ApplyToml(std::string_view text, const std::string& path, Settings& settings) {
  toml::table table;
  try {
    table = toml::parse(text, path);
  } catch (const toml::parse_error& error) {
    return Error{"22023",
                 path + ":" + std::to_string(error.source().begin.line) + ": " + std::string(error.description())};
  }
  for (const auto& [key, node] : table) {
    const SettingSpec* found = nullptr;
    for (const SettingSpec& spec : SettingsTable()) {
      if (spec.name == key.str()) found = &spec;
    }
    const std::string place = path + ":" + std::to_string(key.source().begin.line) + ": ";
    if (found == nullptr) return Error{"22023", place + "unknown setting \"" + std::string(key.str()) + "\""};
    const Result<std::string> value = NodeText(*found, node);
    if (!value.ok()) return Error{"22023", place + std::string(key.str()) + ": " + value.error().message()};
    const Status set = Set(*found, *value, settings);
    if (!set.ok()) return Error{"22023", place + set.error().message()};
  }
  return Status();
}

std::string Print(const Settings& settings) {
  std::ostringstream out;
  for (const SettingSpec& spec : SettingsTable()) {
    out << "# " << spec.description << (spec.unit.empty() ? "" : " Unit: " + std::string(spec.unit) + ".") << "\n";
    out << spec.name << " = ";
    if (std::holds_alternative<std::string Settings::*>(spec.member)) {
      out << toml::value<std::string>(Get(settings, spec));
    } else {
      out << Get(settings, spec);
    }
    out << "\n";
  }
  return out.str();
}

Result<HostPort> ParseHostPort(std::string_view text) {
  const size_t colon = text.rfind(':');
  HostPort out;
  if (colon != std::string_view::npos) {
    const std::string_view port = text.substr(colon + 1);
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), out.port);
    if (error == std::errc() && end == port.data() + port.size() && !port.empty()) {
      out.host = std::string(text.substr(0, colon));
      if (out.host.empty()) {
        return Error{"22023", "\"" + std::string(text) +
                                  "\" is not HOST:PORT: for all addresses write 0.0.0.0:PORT or [::]:PORT"};
      }
      const bool bracketed = out.host.starts_with('[') && out.host.ends_with(']');
      if (bracketed || out.host.find(':') == std::string::npos) return out;
      return Error{"22023",
                   "\"" + std::string(text) + "\" is not HOST:PORT: an IPv6 address is written [ADDRESS]:PORT"};
    }
  }
  return Error{"22023", "\"" + std::string(text) + "\" is not HOST:PORT"};
}

}  // namespace sisal::config
