// sisal: the command-line client. Its exit codes are for scripts: 0, or 1 after an error, 2 for wrong usage, 3 if the
// server could not be reached.
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "client.h"
#include "completion.h"
#include "error_text.h"
#include "interrupt.h"
#include "line_editor.h"
#include "output.h"
#include "shell.h"
#include "text_width.h"

namespace sisal::cli {
namespace {
constexpr int kExitError = 1;
constexpr int kExitUsage = 2;
constexpr int kExitNoConnection = 3;
constexpr std::chrono::milliseconds kConnectTimeout{10000};
constexpr std::chrono::seconds kIdleLease{600};  // at a prompt a transaction waits for a person

struct Options {
  std::string server = "127.0.0.1:7433";
  std::string format = "aligned";
  std::vector<std::string> commands;
  std::string file;
};

// HOST, [IPv6] and HOST:PORT as HOST:PORT, gRPC's own names ("unix:...", "dns:///...") as they are; empty if it is
// none.
std::string NormalServer(const std::string& server) {
  if (server.find('/') != std::string::npos) return server;
  const size_t bracket = server.rfind(']');
  const size_t colon = server.find(':', bracket == std::string::npos ? 0 : bracket);
  if (server.empty() || colon == 0) return std::string();
  if (colon == std::string::npos) return server + ":7433";
  const std::string port = server.substr(colon + 1);
  const bool digits = !port.empty() && port.find_first_not_of("0123456789") == std::string::npos;
  return digits ? server : std::string();
}

int ReportNoConnection(const std::string& server, const Error& error) {
  if (IsConnectionLoss(error)) {
    std::fprintf(stderr,
                 "sisal: %s: %s\n"
                 "Is sisald running there? Another server is named with -s HOST:PORT or in SISAL_SERVER.\n",
                 server.c_str(), error.message().c_str());
  } else {
    std::fprintf(stderr, "sisal: %s does not serve:\n%s", server.c_str(), RenderError(error, "").c_str());
  }
  return kExitNoConnection;
}

Verdict RunInteractive(Shell& shell, const std::string& server, const std::string& version) {
  SchemaCache schema(shell.client());
  shell.on_schema_change = [&schema] { schema.Forget(); };
  const char* home = std::getenv("HOME");
  LineEditor editor(schema, home == nullptr ? "" : std::string(home) + "/.sisal_history");
  std::printf("sisal %s, server %s at %s. \\? lists the commands, \\q quits.\n", SISAL_VERSION,
              version.empty() ? "(unknown version)" : version.c_str(), server.c_str());
  const Verdict verdict = shell.Run(editor);
  if (shell.client().phase() != Client::Phase::kNone) {
    static_cast<void>(shell.client().Rollback());
    std::fputs("The open transaction was rolled back.\n", stderr);
  }
  return verdict;
}

Verdict RunCommands(Shell& shell, const std::vector<std::string>& commands) {
  for (const std::string& command : commands) {
    TextSource source(command);
    if (const Verdict verdict = shell.Run(source); verdict != Verdict::kGoOn) return verdict;
  }
  return Verdict::kGoOn;
}

int Run(const Options& options) {
  const std::string server = NormalServer(options.server);
  if (server.empty()) {
    std::fprintf(stderr, "sisal: \"%s\" is no HOST:PORT\n", options.server.c_str());
    return kExitUsage;
  }
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);  // its log repeats what the calls return
  signal(SIGPIPE, SIG_IGN);                           // seen as EPIPE where we write
  UseUtf8Locale();
  const bool from_stdin = options.commands.empty() && (options.file.empty() || options.file == "-");
  const bool interactive = from_stdin && options.file.empty() && isatty(STDIN_FILENO) == 1;
  Interrupts interrupts(interactive ? Interrupts::WhenIdle::kRemember : Interrupts::WhenIdle::kExit);
  Client client(server, interrupts, interactive ? kIdleLease : std::chrono::seconds::zero());
  const Result<v1::GetServerInfoResponse> info = client.Connect(kConnectTimeout);
  if (!info.ok()) return ReportNoConnection(server, info.error());

  Output output(stdout);
  Shell::Settings settings;
  if (!ParseFormat(options.format, &settings.display.format)) return kExitUsage;
  settings.stdin_is_script = from_stdin;
  Shell shell(client, output, settings);
  Verdict verdict = Verdict::kGoOn;
  if (interactive) {
    RunInteractive(shell, server, info->version());
  } else if (!options.commands.empty()) {
    verdict = RunCommands(shell, options.commands);
  } else if (from_stdin) {
    FileSource source(stdin, "");
    verdict = shell.Run(source);
  } else {
    verdict = shell.RunFile(options.file);
  }
  if (!output.Flush().ok()) verdict = Verdict::kFailed;
  // What a script leaves open is rolled back now, not when its lease ends.
  if (client.phase() != Client::Phase::kNone) static_cast<void>(client.Rollback());
  if (verdict != Verdict::kFailed) return 0;
  return shell.connection_lost() ? kExitNoConnection : kExitError;
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("sisal: SQL on a Sisal server. Without -c and -f it reads standard input; at a terminal it prompts.");
  app.add_option("-s,--server", options.server, "HOST:PORT of the server")
      ->envname("SISAL_SERVER")
      ->capture_default_str();
  app.add_option("--format", options.format, "aligned, csv (RFC 4180) or json (an array for each result)")
      ->check(CLI::IsMember({"aligned", "csv", "json"}))
      ->capture_default_str();
  auto* command = app.add_option("-c,--command", options.commands,
                                 "run these statements, each in a transaction of its own unless BEGIN opens one; "
                                 "may be repeated")
                      ->allow_extra_args(false);
  app.add_option("-f,--file", options.file, "run the statements of a file; - is standard input")->excludes(command);
  app.set_version_flag("--version", std::string("sisal ") + SISAL_VERSION);
  app.footer("Exit codes: 0, 1 after the first error, 2 wrong usage, 3 no connection.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitUsage;
  }
  return Run(options);
}
}  // namespace
}  // namespace sisal::cli

int main(int argc, char** argv) { return sisal::cli::Main(argc, argv); }
