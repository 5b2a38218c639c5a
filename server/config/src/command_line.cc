// Flags over environment over file.
#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>

#include "sisal/config/settings.h"

namespace sisal::config {
namespace {

std::string FlagOf(const SettingSpec& spec) {
  std::string flag = "--" + std::string(spec.name);
  for (char& c : flag) c = c == '_' ? '-' : c;
  return flag;
}

std::string EnvironmentOf(const SettingSpec& spec) {
  std::string name = "SISAL_" + std::string(spec.name);
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

std::optional<std::string> Find(const std::vector<std::string>& environment, const std::string& name) {
  for (const std::string& entry : environment) {
    if (entry.size() > name.size() && entry[name.size()] == '=' && entry.compare(0, name.size(), name) == 0) {
      return entry.substr(name.size() + 1);
    }
  }
  return std::nullopt;
}

std::string HelpOf(const SettingSpec& spec, const Settings& defaults) {
  std::string text(spec.description);
  if (!spec.choices.empty()) text += " One of: " + std::string(spec.choices) + ".";
  if (!spec.unit.empty()) text += " Unit: " + std::string(spec.unit) + ".";
  const std::string value = Get(defaults, spec);
  text += value.empty() ? "" : " Default: " + value + ".";
  return text + " [" + EnvironmentOf(spec) + "]";
}

Status ApplyFile(const std::string& path, Settings& settings) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "re"), &std::fclose);
  std::string text;
  if (file != nullptr) {
    char bytes[4096];
    for (size_t size; (size = std::fread(bytes, 1, sizeof bytes, file.get())) > 0;) text.append(bytes, size);
  }
  if (file == nullptr || std::ferror(file.get()) != 0) {
    return Error{"22023", "cannot read the configuration file \"" + path + "\": " + std::strerror(errno)};
  }
  return ApplyToml(text, path, settings);
}

// Sets what was given as `text` by a flag or the environment, whose name an error tells.
Status Apply(const std::string& source, const SettingSpec& spec, const std::string& text, Settings& settings) {
  const Status set = Set(spec, text, settings);
  return set.ok() ? set : Error{"22023", source + ": " + set.error().message()};
}

Status CheckAddress(const char* name, const std::string& address) {
  const auto parsed = ParseHostPort(address);
  if (parsed.ok()) return Status();
  return Error{"22023", std::string("invalid value for setting \"") + name + "\": " + parsed.error().message()};
}

}  // namespace

Result<CommandLine> Load(const std::vector<std::string>& arguments, const std::vector<std::string>& environment) {
  CommandLine out;
  CLI::App app("sisald: the Sisal database server", "sisald");
  std::string config_path;
  bool print_config = false;
  app.set_version_flag("--version", "sisald 0.1.0");
  CLI::Option* config = app.add_option("--config", config_path, "TOML file of settings. [SISAL_CONFIG]");
  app.add_flag("--print-config", print_config, "Print the settings in effect as TOML and exit.");
  const std::span<const SettingSpec> table = SettingsTable();
  std::vector<std::string> values(table.size());
  std::vector<CLI::Option*> options;
  for (size_t i = 0; i < table.size(); ++i) {
    options.push_back(app.add_option(FlagOf(table[i]), values[i], HelpOf(table[i], out.settings)));
  }
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    out.action = CommandLine::Action::kExit, out.output = app.help();
    return out;
  } catch (const CLI::CallForVersion& version) {
    out.action = CommandLine::Action::kExit, out.output = std::string(version.what()) + "\n";
    return out;
  } catch (const CLI::ParseError& error) {
    return Error{"22023", error.what()}.WithHint("sisald --help lists all settings.");
  }

  if (config->count() == 0) config_path = Find(environment, "SISAL_CONFIG").value_or("");
  if (!config_path.empty()) SISAL_RETURN_IF_ERROR(ApplyFile(config_path, out.settings));
  // Names that we do not know are no errors here: Kubernetes puts SISAL_PORT and the like into the environment of every
  // pod when a service is called sisal.
  for (size_t i = 0; i < table.size(); ++i) {
    const auto from_environment = Find(environment, EnvironmentOf(table[i]));
    if (options[i]->count() > 0) {
      SISAL_RETURN_IF_ERROR(Apply(FlagOf(table[i]), table[i], values[i], out.settings));
    } else if (from_environment.has_value()) {
      SISAL_RETURN_IF_ERROR(Apply(EnvironmentOf(table[i]), table[i], *from_environment, out.settings));
    }
  }
  SISAL_RETURN_IF_ERROR(CheckAddress("listen", out.settings.listen));
  if (!out.settings.http_listen.empty()) SISAL_RETURN_IF_ERROR(CheckAddress("http_listen", out.settings.http_listen));
  if (print_config) {
    out.action = CommandLine::Action::kPrintConfig, out.output = Print(out.settings);
    return out;
  }
  if (out.settings.data_dir.empty()) return Error{"22023", "the setting \"data_dir\" is required: --data-dir DIR"};
  return out;
}

}  // namespace sisal::config
