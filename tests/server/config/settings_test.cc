#include "sisal/config/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "sisal/testing/status_matchers.h"

namespace sisal::config {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const SettingSpec& Spec(std::string_view name) {
  for (const SettingSpec& spec : SettingsTable()) {
    if (spec.name == name) return spec;
  }
  std::abort();
}

// A file that goes with the test.
class TempFile {
 public:
  explicit TempFile(std::string_view text) {
    char name[] = "/tmp/sisal_settings_XXXXXX";
    const int fd = mkstemp(name);
    close(fd);
    path_ = name;
    std::ofstream(path_) << text;
  }
  ~TempFile() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(SettingsTest, FlagBeatsEnvironmentBeatsFileBeatsDefault) {
  const TempFile file("loops = 3\ncalls_count = 5\ntransactions_count = 7\n");
  ASSERT_OK_AND_ASSIGN(const CommandLine line, Load({"--data-dir", "d", "--config", file.path(), "--loops", "1"},
                                                    {"PATH=/bin", "SISAL_LOOPS=2", "SISAL_CALLS_COUNT=6"}));
  EXPECT_EQ(line.settings.loops, 1u);
  EXPECT_EQ(line.settings.calls_count, 6u);
  EXPECT_EQ(line.settings.transactions_count, 7u);
  EXPECT_EQ(line.settings.request_bytes, 16u << 20);
}

TEST(SettingsTest, ConfigFileMayComeFromTheEnvironment) {
  const TempFile file("data_dir = \"x\"\n");
  ASSERT_OK_AND_ASSIGN(const CommandLine line, Load({}, {"SISAL_CONFIG=" + file.path()}));
  EXPECT_EQ(line.settings.data_dir, "x");
}

TEST(SettingsTest, UnknownKeyNamesFileAndLine) {
  Settings settings;
  const Status status = ApplyToml("loops = 1\nlops = 2\n", "f.toml", settings);
  EXPECT_SQLSTATE(status, "22023");
  EXPECT_THAT(status.error().message(), HasSubstr("f.toml:2: unknown setting \"lops\""));
}

TEST(SettingsTest, MalformedTomlNamesTheLine) {
  Settings settings;
  const Status status = ApplyToml("loops = 1\nloops =\n", "f.toml", settings);
  EXPECT_SQLSTATE(status, "22023");
  EXPECT_THAT(status.error().message(), HasSubstr("f.toml:2"));
}

TEST(SettingsTest, AFileHasTypes) {
  for (const char* text : {"listen = 7433", "data_dir = true", "reflection = 1", "reflection = \"true\"", "loops = 1.5",
                           "loops = \"4\"", "drain_ms = \"25s\"", "loops = [1]", "[listen]\nx = 1"}) {
    Settings settings;
    const Status status = ApplyToml(text, "f.toml", settings);
    EXPECT_SQLSTATE(status, "22023");
    EXPECT_THAT(status.error().message(), AllOf(HasSubstr("f.toml:1: "), HasSubstr("wanted"))) << text;
  }
  Settings settings;
  EXPECT_OK(ApplyToml("wal_segment_bytes = \"8MiB\"\nloops = 2\nreflection = false\n", "f.toml", settings));
  EXPECT_EQ(settings.wal_segment_bytes, 8u << 20);
}

TEST(SettingsTest, AFileThatCannotBeReadIsAnError) {
  for (const char* path : {"/nonexistent", "/tmp"}) {
    const auto line = Load({"--data-dir", "d", "--config", path}, {});
    EXPECT_SQLSTATE(line.status(), "22023");
    EXPECT_THAT(line.error().message(), HasSubstr(std::string("cannot read the configuration file \"") + path));
  }
}

TEST(SettingsTest, ErrorsTellWhereTheValueCameFrom) {
  EXPECT_THAT(Load({"--data-dir", "d"}, {"SISAL_LOOPS="}).error().message(), HasSubstr("SISAL_LOOPS: "));
  EXPECT_THAT(Load({"--data-dir", "d", "--drain-ms", "25s"}, {}).error().message(),
              AllOf(HasSubstr("--drain-ms: "), HasSubstr("its unit is ms")));
  EXPECT_THAT(Load({"--data-dir", "d", "--http-listen", "x"}, {}).error().message(), HasSubstr("\"http_listen\""));
}

// What it prints must be fit for --config.
TEST(SettingsTest, PrintConfigChecksAllThatARunDoes) {
  EXPECT_SQLSTATE(Load({"--print-config", "--listen", "nowhere"}, {}).status(), "22023");
  ASSERT_OK_AND_ASSIGN(const CommandLine line,
                       Load({"--print-config", "--listen", "[::1]:0", "--http-listen", ""}, {}));
  const TempFile file(line.output);
  ASSERT_OK_AND_ASSIGN(const CommandLine back, Load({"--config", file.path(), "--print-config"}, {}));
  EXPECT_EQ(back.output, line.output);
}

TEST(SettingsTest, ExtremeValuesOverflowNothing) {
  for (const SettingSpec& spec : SettingsTable()) {
    Settings settings;
    if (!std::holds_alternative<uint64_t Settings::*>(spec.member)) continue;
    EXPECT_SQLSTATE(Set(spec, "18446744073709551615", settings), "22023");
    EXPECT_OK(Set(spec, std::to_string(spec.max), settings));
    // As durations they are counted in nanoseconds.
    const uint64_t unit_ns = spec.unit == "ms" ? 1'000'000 : spec.unit == "seconds" ? 1'000'000'000 : 1;
    EXPECT_LE(spec.max, uint64_t{INT64_MAX} / unit_ns / 2) << spec.name;
  }
}

TEST(SettingsTest, ZeroBytesInTextAreRefused) {
  Settings settings;
  EXPECT_SQLSTATE(ApplyToml("data_dir = \"a\\u0000b\"", "f.toml", settings), "22023");
}

TEST(SettingsTest, UnknownFlagIsAnError) { EXPECT_SQLSTATE(Load({"--data-dir", "d", "--nope"}, {}).status(), "22023"); }

TEST(SettingsTest, UnknownEnvironmentIsLeftAlone) {
  EXPECT_OK(Load({"--data-dir", "d"}, {"SISAL_PORT=tcp://10.0.0.1:7433"}));
}

TEST(SettingsTest, DataDirectoryIsRequired) { EXPECT_SQLSTATE(Load({}, {}).status(), "22023"); }

TEST(SettingsTest, SizesTakeBinarySuffixes) {
  Settings settings;
  EXPECT_OK(Set(Spec("wal_segment_bytes"), "8MiB", settings));
  EXPECT_EQ(settings.wal_segment_bytes, 8u << 20);
  EXPECT_SQLSTATE(Set(Spec("wal_segment_bytes"), "8MB", settings), "22023");
  EXPECT_SQLSTATE(Set(Spec("loops"), "8KiB", settings), "22023");
}

TEST(SettingsTest, ValuesOutsideTheirRangeOrChoicesAreRefused) {
  Settings settings;
  EXPECT_SQLSTATE(Set(Spec("wal_segment_bytes"), "1", settings), "22023");
  EXPECT_SQLSTATE(Set(Spec("wal_segment_bytes"), "99999999999999999999", settings), "22023");
  EXPECT_SQLSTATE(Set(Spec("log_format"), "xml", settings), "22023");
  EXPECT_SQLSTATE(Set(Spec("reflection"), "yes", settings), "22023");
}

TEST(SettingsTest, PrintedSettingsReadBackEqual) {
  Settings settings;
  settings.data_dir = "a \"quoted\" \\ directory";
  settings.loops = 4;
  settings.reflection = false;
  Settings back;
  ASSERT_OK(ApplyToml(Print(settings), "printed", back));
  for (const SettingSpec& spec : SettingsTable()) EXPECT_EQ(Get(back, spec), Get(settings, spec)) << spec.name;
}

TEST(SettingsTest, HelpListsEverySetting) {
  ASSERT_OK_AND_ASSIGN(const CommandLine line, Load({"--help"}, {}));
  EXPECT_EQ(line.action, CommandLine::Action::kExit);
  for (const SettingSpec& spec : SettingsTable()) {
    std::string flag(spec.name);
    for (char& c : flag) c = c == '_' ? '-' : c;
    EXPECT_THAT(line.output, HasSubstr("--" + flag));
  }
}

TEST(SettingsTest, HostPort) {
  ASSERT_OK_AND_ASSIGN(const HostPort v6, ParseHostPort("[::1]:80"));
  EXPECT_EQ(v6.host, "[::1]");
  EXPECT_EQ(v6.port, 80);
  EXPECT_SQLSTATE(ParseHostPort("localhost").status(), "22023");
  EXPECT_SQLSTATE(ParseHostPort("localhost:99999").status(), "22023");
  EXPECT_SQLSTATE(ParseHostPort("localhost:").status(), "22023");
  EXPECT_SQLSTATE(ParseHostPort("::1:80").status(), "22023");
  EXPECT_SQLSTATE(ParseHostPort(":80").status(), "22023");
}

}  // namespace
}  // namespace sisal::config
