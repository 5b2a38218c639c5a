#include "shell.h"

#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "error_text.h"
#include "meta_commands.h"

namespace sisal::cli {
namespace {
using std::chrono::steady_clock;

constexpr std::string_view kGuide =
    "This is sisal, the command line of the Sisal database. SQL runs when a semicolon ends it.\n"
    "Type:  \\h for help with SQL statements\n"
    "       \\? for the list of commands\n"
    "       \\d to list the tables, \\d NAME to describe one\n"
    "       \\q to quit\n";

bool IsWrite(std::string_view command) {
  return command == "INSERT" || command == "UPDATE" || command == "DELETE" || command == "MERGE";
}

bool ChangesSchema(std::string_view command) {
  return command.starts_with("CREATE") || command.starts_with("DROP") || command.starts_with("ALTER") ||
         command == "ROLLBACK";
}
}  // namespace

Verdict Shell::Run(LineSource& source) {
  StatementSplitter splitter;
  std::string entry;  // the lines of what is being typed, for the history
  std::string line;
  while (true) {
    const LineSource::Event event = source.Next(Prompt(splitter), &line);
    if (event == LineSource::Event::kEnd) break;
    if (event == LineSource::Event::kInterrupted) {
      splitter.Reset();
      entry.clear();
      continue;
    }
    if (source.interactive()) {
      // A Ctrl-C before, while names were looked up for a completion, does not concern this line.
      client_.interrupts().TakePending();
      const TypedWord word = ReadTypedWord(line);
      if (word == TypedWord::kQuit && splitter.prompt_mark() == '=') return Verdict::kQuit;
      if (word != TypedWord::kNone && Advise(word, splitter.prompt_mark())) {
        source.Remember(line);
        continue;
      }
    }
    splitter.Feed(line);
    error_prefix_ = source.ErrorPrefix();
    entry += line;
    const Verdict verdict = RunFed(source, splitter);
    if (splitter.prompt_mark() == '=' || verdict == Verdict::kQuit) {
      source.Remember(entry);
      entry.clear();
    }
    if (verdict != Verdict::kGoOn) return verdict;
  }
  const std::string unfinished = splitter.TakeUnfinished();
  if (source.interactive() || unfinished.empty()) return Verdict::kGoOn;
  return RunStatement(unfinished, settings_.display);
}

bool Shell::Advise(TypedWord word, char prompt_mark) {
  const bool quoted = prompt_mark != '=' && prompt_mark != '-' && prompt_mark != '(';
  if (prompt_mark == '=') {
    if (word != TypedWord::kHelp) return false;  // \q works here
    PrintText(kGuide);
  } else if (word == TypedWord::kHelp) {
    PrintText("Use \\? for help or press control-C to clear the input buffer.\n");
  } else if (quoted) {
    PrintText("Use control-D to quit.\n");
  } else if (word == TypedWord::kQuit) {
    PrintText("Use \\q to quit.\n");
  }
  static_cast<void>(output_.Flush());  // a failure comes again with the next flush
  return prompt_mark == '=';
}

Verdict Shell::RunFed(LineSource& source, StatementSplitter& splitter) {
  while (true) {
    Verdict verdict = Verdict::kGoOn;
    switch (splitter.Next()) {
      case StatementSplitter::Event::kNeedInput:
        return Verdict::kGoOn;
      case StatementSplitter::Event::kStatement:
        verdict = RunStatement(splitter.TakeStatement(), settings_.display);
        break;
      case StatementSplitter::Event::kMetaCommand:
        verdict = RunMetaCommand(*this, splitter);
        break;
    }
    const bool interrupted = client_.interrupts().TakePending();
    if (verdict == Verdict::kQuit) return verdict;
    if (verdict == Verdict::kGoOn && !interrupted) continue;
    if (!source.interactive()) return Verdict::kFailed;
    if (interrupted) splitter.Reset();
  }
}

Verdict Shell::RunFile(const std::string& path) {
  if (include_depth_ >= kIncludeDepthMax) return Complain(path + ": files are included too deeply");
  FILE* file = std::fopen(ExpandTilde(path).c_str(), "re");
  if (file == nullptr) return Complain(path + ": " + std::strerror(errno));
  ++include_depth_;
  const std::string prefix = error_prefix_;
  FileSource source(file, path);
  const Verdict verdict = Run(source);
  error_prefix_ = prefix;
  --include_depth_;
  if (std::ferror(file) != 0 && verdict == Verdict::kGoOn) {
    std::fclose(file);
    return Complain(path + ": could not read the file");
  }
  std::fclose(file);
  return verdict;
}

Verdict Shell::RunStatement(const std::string& sql, const DisplayOptions& display) {
  last_statement_ = sql;
  const auto start = steady_clock::now();
  RowPrinter printer(output_, MakeRowWriter(display));
  const Result<Client::Outcome> outcome = client_.Run(sql, printer);
  Verdict verdict = Verdict::kGoOn;
  if (!outcome.ok()) {
    verdict = ReportError(outcome.error(), sql);
  } else {
    if (outcome->has_rows) {
      if (const Status written = printer.Finish(); !written.ok()) return ReportError(written.error(), sql);
    }
    PrintWarnings(outcome->warnings);
    if (!outcome->has_rows || IsWrite(outcome->command)) PrintNote(CommandTag(*outcome));
    if (on_schema_change && ChangesSchema(outcome->command)) on_schema_change();
  }
  if (settings_.timing) PrintTiming(start);
  const Status flushed = output_.Flush();
  if (!flushed.ok() && verdict == Verdict::kGoOn) return ReportError(flushed.error(), sql);
  return verdict;
}

void Shell::PrintTable(const std::vector<std::string>& names, const std::vector<std::vector<Cell>>& rows,
                       const DisplayOptions& display) {
  ColumnTypes columns;
  for (const std::string& name : names) {
    v1::ColumnType* column = columns.Add();
    column->set_name(name);
    column->set_type(v1::TYPE_CODE_TEXT);
  }
  const std::unique_ptr<RowWriter> writer = MakeRowWriter(display);
  writer->Begin(columns, output_.text());
  for (const std::vector<Cell>& row : rows) writer->Row(row, output_.text());
  writer->End(output_.text());
}

void Shell::PrintNote(std::string_view text) {
  if (settings_.display.format == Format::kAligned && !text.empty()) output_.text()->append(text).append("\n");
}

void Shell::PrintWarnings(const std::vector<v1::Warning>& warnings) {
  if (warnings.empty()) return;
  static_cast<void>(output_.Flush());  // in the order of events; a failure comes again with the next flush
  for (const v1::Warning& warning : warnings) {
    std::fputs((error_prefix_ + RenderWarning(warning.sqlstate(), warning.message(), warning.hint())).c_str(), stderr);
  }
}

Verdict Shell::ReportError(const Error& error, std::string_view sql) {
  const Status flushed = output_.Flush();
  if (!flushed.ok() && output_.pipe_closed()) return Verdict::kFailed;  // as quietly as a closed pipe kills others
  connection_lost_ = connection_lost_ || IsConnectionLoss(error);
  std::fputs((error_prefix_ + RenderError(error, sql)).c_str(), stderr);
  return Verdict::kFailed;
}

Verdict Shell::Complain(std::string_view message) {
  static_cast<void>(output_.Flush());
  std::fprintf(stderr, "%s%.*s\n", error_prefix_.empty() ? "sisal: " : error_prefix_.c_str(),
               static_cast<int>(message.size()), message.data());
  return Verdict::kFailed;
}

std::string Shell::Prompt(const StatementSplitter& splitter) const {
  std::string prompt = "sisal";
  prompt.push_back(splitter.prompt_mark());
  if (client_.phase() == Client::Phase::kOpen) prompt.push_back('*');
  if (client_.phase() == Client::Phase::kFailed) prompt.push_back('!');
  return prompt + "> ";
}

void Shell::PrintTiming(steady_clock::time_point start) {
  const auto elapsed = std::chrono::duration_cast<std::chrono::microseconds>(steady_clock::now() - start);
  const std::string text = TimingText(elapsed);
  if (settings_.display.format == Format::kAligned) return PrintNote(text);
  static_cast<void>(output_.Flush());
  std::fprintf(stderr, "%s\n", text.c_str());
}

TypedWord ReadTypedWord(std::string_view line) {
  size_t end = 0;
  while (end < line.size() && (std::isalpha(static_cast<unsigned char>(line[end])) != 0 || line[end] == '\\')) ++end;
  std::string word(line.substr(0, end));
  for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  std::string_view rest = line.substr(end);
  bool semicolon = false;
  while (!rest.empty() && (std::isspace(static_cast<unsigned char>(rest[0])) != 0 || (rest[0] == ';' && !semicolon))) {
    semicolon = semicolon || rest[0] == ';';
    rest.remove_prefix(1);
  }
  if (!rest.empty()) return TypedWord::kNone;
  if (word == "help") return TypedWord::kHelp;
  if (word == "quit" || word == "exit") return TypedWord::kQuit;
  return word == "\\q" ? TypedWord::kBackslashQ : TypedWord::kNone;
}

LineSource::Event TextSource::Next(const std::string&, std::string* line) {
  if (!text_.has_value()) return Event::kEnd;
  *line = *std::move(text_);
  text_.reset();
  return Event::kLine;
}

FileSource::~FileSource() { std::free(buffer_); }

LineSource::Event FileSource::Next(const std::string&, std::string* line) {
  const ssize_t length = getline(&buffer_, &buffer_bytes_, file_);
  if (length < 0) return Event::kEnd;
  ++line_;
  std::string_view text(buffer_, static_cast<size_t>(length));
  if (line_ == 1 && text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a byte order mark is no SQL
  line->assign(text);
  return Event::kLine;
}

std::string FileSource::ErrorPrefix() const {
  return name_.empty() ? std::string() : "sisal:" + name_ + ":" + std::to_string(line_) + ": ";
}

std::string ExpandTilde(const std::string& path) {
  const char* home = std::getenv("HOME");
  if (home == nullptr || (path != "~" && !path.starts_with("~/"))) return path;
  return home + path.substr(1);
}

std::string CommandTag(const Client::Outcome& outcome) {
  if (outcome.command == "INSERT") return "INSERT 0 " + std::to_string(outcome.rows_affected);
  if (IsWrite(outcome.command)) return outcome.command + " " + std::to_string(outcome.rows_affected);
  return outcome.command;
}

std::string TimingText(std::chrono::microseconds elapsed) {
  char text[96];
  const double milliseconds = static_cast<double>(elapsed.count()) / 1000.0;
  const double seconds = milliseconds / 1000.0;
  if (milliseconds < 1000.0) {
    std::snprintf(text, sizeof text, "Time: %.3f ms", milliseconds);
    return text;
  }
  const long long minutes = static_cast<long long>(seconds) / 60;
  const double rest = seconds - static_cast<double>(minutes) * 60.0;
  if (minutes < 60) {
    std::snprintf(text, sizeof text, "Time: %.3f ms (%02lld:%06.3f)", milliseconds, minutes, rest);
  } else {
    std::snprintf(text, sizeof text, "Time: %.3f ms (%02lld:%02lld:%06.3f)", milliseconds, minutes / 60, minutes % 60,
                  rest);
  }
  return text;
}
}  // namespace sisal::cli
