// Runs SQL and meta-commands from a script or a terminal and prints what comes back.
//
// Results go to the output, errors and warnings to standard error. In a script the first error ends it.
//
// Concurrency: externally synchronised.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client.h"
#include "output.h"
#include "row_writer.h"
#include "statement_splitter.h"

namespace sisal::cli {
enum class Verdict { kGoOn, kQuit, kFailed };

// Lines to run. Concurrency: externally synchronised.
class LineSource {
 public:
  enum class Event { kLine, kEnd, kInterrupted };
  virtual ~LineSource() = default;
  // `line` gets the next line with its newline, or any number of whole lines.
  virtual Event Next(const std::string& prompt, std::string* line) = 0;
  virtual bool interactive() const { return false; }
  // What a person may want to see again.
  virtual void Remember(const std::string&) {}
  // Before "ERROR:" of a statement that ends on the line read last: "sisal:a.sql:3: ".
  virtual std::string ErrorPrefix() const { return std::string(); }
};

// What people type who do not know, or remember psql: the word alone on its line, a semicolon at most after it.
enum class TypedWord { kNone, kHelp, kQuit, kBackslashQ };
TypedWord ReadTypedWord(std::string_view line);

class Shell {
 public:
  struct Settings {
    DisplayOptions display;
    bool timing = false;
    bool stdin_is_script = false;  // then \copy cannot read it
  };

  Shell(Client& client, Output& output, Settings settings)
      : client_(client), output_(output), settings_(std::move(settings)) {}

  // Runs all that `source` has, up to the first error unless it is interactive.
  Verdict Run(LineSource& source);
  Verdict RunFile(const std::string& path);
  Verdict RunStatement(const std::string& sql, const DisplayOptions& display);
  // The text of the statement that ran last, for \g, \p and \e at an empty buffer.
  const std::string& last_statement() const { return last_statement_; }

  // Prints a table of ours as if it were a result.
  void PrintTable(const std::vector<std::string>& names, const std::vector<std::vector<Cell>>& rows,
                  const DisplayOptions& display);
  // Prints to the output in the aligned format only: CSV and JSON carry rows and nothing else.
  void PrintNote(std::string_view text);
  void PrintText(std::string_view text) { output_.text()->append(text); }
  // How long it took since `start`.
  void PrintTiming(std::chrono::steady_clock::time_point start);
  void PrintWarnings(const std::vector<v1::Warning>& warnings);
  Verdict ReportError(const Error& error, std::string_view sql);
  // An error of our own, which has no SQLSTATE.
  Verdict Complain(std::string_view message);

  Client& client() { return client_; }
  Output& output() { return output_; }
  Settings& settings() { return settings_; }
  // A call failed because the server could not be reached.
  bool connection_lost() const { return connection_lost_; }
  // Called after a statement that may have changed which tables there are.
  std::function<void()> on_schema_change;

 private:
  static constexpr int kIncludeDepthMax = 16;

  // Tells what helps whoever typed `word` at such a prompt. True: the word is no SQL.
  bool Advise(TypedWord word, char prompt_mark);
  Verdict RunFed(LineSource& source, StatementSplitter& splitter);
  std::string Prompt(const StatementSplitter& splitter) const;

  Client& client_;
  Output& output_;
  Settings settings_;
  bool connection_lost_ = false;
  int include_depth_ = 0;
  std::string last_statement_;
  std::string error_prefix_;
};

// Lines of a text, all at once, or of a file as they come.
class TextSource final : public LineSource {
 public:
  explicit TextSource(std::string text) : text_(std::move(text)) {}
  Event Next(const std::string&, std::string* line) override;

 private:
  std::optional<std::string> text_;
};
class FileSource final : public LineSource {
 public:
  // Borrows `file`. `name`: for errors; empty: they tell no line.
  FileSource(FILE* file, std::string name) : file_(file), name_(std::move(name)) {}
  ~FileSource() override;
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;
  Event Next(const std::string&, std::string* line) override;
  std::string ErrorPrefix() const override;

 private:
  FILE* const file_;
  const std::string name_;
  char* buffer_ = nullptr;
  size_t buffer_bytes_ = 0;
  uint64_t line_ = 0;
};

// "~/a" as a file in the user's home, anything else as it is: what a shell does for its commands' arguments.
std::string ExpandTilde(const std::string& path);
// "INSERT 0 3", "CREATE TABLE": the command tag as psql prints it.
std::string CommandTag(const Client::Outcome& outcome);
// "Time: 1234.567 ms (00:01.235)".
std::string TimingText(std::chrono::microseconds elapsed);
}  // namespace sisal::cli
