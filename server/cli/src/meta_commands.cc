#include "meta_commands.h"

#include <algorithm>
#include <map>

#include "copy_command.h"
#include "describe.h"
#include "edit_command.h"
#include "sql_help.h"

namespace sisal::cli {
namespace {
bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

struct Context {
  Shell& shell;
  StatementSplitter& splitter;
  const MetaCommand& command;
};

// `off` is what the toggle makes of no argument. False: the argument is neither on nor off.
bool ReadSwitch(const Context& context, bool* value) {
  if (context.command.arguments.empty()) {
    *value = !*value;
    return true;
  }
  const std::string& word = context.command.arguments[0];
  if (word != "on" && word != "off") return false;
  *value = word == "on";
  return true;
}

Verdict BadSwitch(const Context& context) {
  return context.shell.Complain("\\" + context.command.name + ": it takes on or off");
}

Verdict Expanded(const Context& context) {
  bool& expanded = context.shell.settings().display.expanded;
  if (!ReadSwitch(context, &expanded)) return BadSwitch(context);
  context.shell.PrintNote(expanded ? "Expanded display is on." : "Expanded display is off.");
  return Verdict::kGoOn;
}

Verdict Timing(const Context& context) {
  bool& timing = context.shell.settings().timing;
  if (!ReadSwitch(context, &timing)) return BadSwitch(context);
  context.shell.PrintNote(timing ? "Timing is on." : "Timing is off.");
  return Verdict::kGoOn;
}

Verdict ShowSettings(Shell& shell) {
  const Shell::Settings& settings = shell.settings();
  const std::map<Format, std::string> formats = {
      {Format::kAligned, "aligned"}, {Format::kCsv, "csv"}, {Format::kJson, "json"}};
  shell.PrintText("expanded  " + std::string(settings.display.expanded ? "on" : "off") + "\n");
  shell.PrintText("format    " + formats.at(settings.display.format) + "\n");
  shell.PrintText("null      '" + settings.display.null_text + "'\n");
  return Verdict::kGoOn;
}

Verdict Pset(const Context& context) {
  const std::vector<std::string>& arguments = context.command.arguments;
  DisplayOptions& display = context.shell.settings().display;
  if (arguments.empty()) return ShowSettings(context.shell);
  const std::string value = arguments.size() > 1 ? arguments[1] : "";
  if (arguments[0] == "null") {
    display.null_text = value;
    context.shell.PrintNote("Null display is \"" + value + "\".");
    return Verdict::kGoOn;
  }
  if (arguments[0] == "expanded" || arguments[0] == "x") {
    MetaCommand inner = {"x", {arguments.begin() + 1, arguments.end()}, {}};
    return Expanded(Context{context.shell, context.splitter, inner});
  }
  if (arguments[0] == "format") {
    if (!ParseFormat(value, &display.format)) {
      return context.shell.Complain("\\pset: allowed formats are aligned, csv, json");
    }
    context.shell.PrintNote("Output format is " + value + ".");
    return Verdict::kGoOn;
  }
  return context.shell.Complain("\\pset: unknown option: " + arguments[0]);
}

Verdict Include(const Context& context) {
  if (context.command.arguments.empty()) return context.shell.Complain("\\i: missing required argument");
  return context.shell.RunFile(context.command.arguments[0]);
}

// \g and \gx: run what has been typed, or the last statement again, \gx with one line for each value.
Verdict Go(const Context& context) {
  if (!context.command.arguments.empty()) {
    return context.shell.Complain("\\" + context.command.name + ": output to a file is not supported; see \\copy");
  }
  std::string sql = context.splitter.TakeUnfinished();
  if (sql.empty()) sql = context.shell.last_statement();
  if (sql.empty()) return Verdict::kGoOn;
  DisplayOptions display = context.shell.settings().display;
  display.expanded = display.expanded || context.command.name == "gx";
  return context.shell.RunStatement(sql, display);
}

// \e: what has been typed, or the last statement, in the editor. What was saved counts as typed: a semicolon runs it.
Verdict Edit(const Context& context) {
  if (!context.command.arguments.empty()) return context.shell.Complain("\\e: files are not supported; see \\i");
  const std::string typed = context.splitter.TakeUnfinished();
  Result<std::string> edited = EditText((typed.empty() ? context.shell.last_statement() : typed) + "\n");
  if (!edited.ok()) {
    if (!typed.empty()) context.splitter.FeedFirst(typed + "\n");
    return context.shell.ReportError(edited.error(), "");
  }
  if (!edited->ends_with('\n')) edited->push_back('\n');
  context.shell.PrintNote(std::string_view(*edited).substr(0, edited->size() - 1));
  context.splitter.FeedFirst(*edited);
  return Verdict::kGoOn;
}

Verdict ResetStatement(const Context& context) {
  context.splitter.TakeUnfinished();
  context.shell.PrintNote("Query buffer reset (cleared).");
  return Verdict::kGoOn;
}

Verdict PrintStatement(const Context& context) {
  std::string_view pending = context.splitter.pending();
  if (pending.empty()) pending = context.shell.last_statement();
  context.shell.PrintNote(pending.empty() ? std::string_view("Query buffer is empty.") : pending);
  return Verdict::kGoOn;
}

Verdict Echo(const Context& context) {
  std::string text;
  for (const std::string& argument : context.command.arguments) text += (text.empty() ? "" : " ") + argument;
  context.shell.PrintText(text + "\n");
  return Verdict::kGoOn;
}

Verdict Help(const Context& context) {
  context.shell.PrintText(MetaCommandHelp());
  return Verdict::kGoOn;
}

Verdict SqlHelp(const Context& context) {
  const std::string text = SqlHelpText(context.command.rest);
  if (text.empty()) {
    return context.shell.Complain("No help available for \"" + std::string(context.command.rest) +
                                  "\".\nTry \\h with no arguments to see available help.");
  }
  context.shell.PrintText(text);
  return Verdict::kGoOn;
}

Verdict DescribeCommand(const Context& context) {
  const std::string pattern = context.command.arguments.empty() ? "" : context.command.arguments[0];
  if (context.command.name == "d" && !pattern.empty()) return DescribeTable(context.shell, pattern);
  if (context.command.name == "di") return ListIndexes(context.shell, pattern);
  return ListTables(context.shell, pattern, /*tables_only=*/context.command.name == "dt");
}

using Function = Verdict (*)(const Context&);
const std::map<std::string, Function>& Functions() {
  static const std::map<std::string, Function> functions = {
      {"?", Help},
      {"copy", [](const Context& context) { return RunCopy(context.shell, context.command.rest); }},
      {"d", DescribeCommand},
      {"di", DescribeCommand},
      {"dt", DescribeCommand},
      {"e", Edit},
      {"echo", Echo},
      {"g", Go},
      {"gx", Go},
      {"h", SqlHelp},
      {"help", SqlHelp},
      {"i", Include},
      {"p", PrintStatement},
      {"pset", Pset},
      {"q", [](const Context&) { return Verdict::kQuit; }},
      {"r", ResetStatement},
      {"timing", Timing},
      {"x", Expanded},
  };
  return functions;
}
}  // namespace

Verdict RunMetaCommand(Shell& shell, StatementSplitter& splitter) {
  const std::string text = splitter.TakeMetaCommand();
  const MetaCommand command = ParseMetaCommand(text);
  const auto found = Functions().find(command.name);
  if (found == Functions().end()) {
    return shell.Complain("invalid command \\" + command.name + "\nTry \\? for help.");
  }
  const Verdict verdict = found->second(Context{shell, splitter, command});
  const Status flushed = shell.output().Flush();
  if (!flushed.ok() && verdict == Verdict::kGoOn) return shell.ReportError(flushed.error(), "");
  return verdict;
}

MetaCommand ParseMetaCommand(std::string_view text) {
  MetaCommand command;
  size_t at = 0;
  while (at < text.size() && !IsSpace(text[at])) ++at;
  command.name = text.substr(0, at);
  while (at < text.size() && IsSpace(text[at])) ++at;
  command.rest = text.substr(at);
  while (!command.rest.empty() && (IsSpace(command.rest.back()) || command.rest.back() == ';')) {
    command.rest.remove_suffix(1);
  }
  const std::string_view rest = command.rest;
  for (size_t i = 0; i < rest.size();) {
    if (IsSpace(rest[i])) {
      ++i;
      continue;
    }
    std::string argument;
    char quote = 0;
    for (; i < rest.size() && (quote != 0 || !IsSpace(rest[i])); ++i) {
      const char c = rest[i];
      if (quote == 0 && (c == '\'' || c == '"')) {
        quote = c;
        if (c == '"') argument.push_back(c);
      } else if (c == quote && c == '\'' && i + 1 < rest.size() && rest[i + 1] == '\'') {
        argument.push_back(c);
        ++i;
      } else if (c == quote) {
        quote = 0;
        if (c == '"') argument.push_back(c);
      } else {
        argument.push_back(c);
      }
    }
    command.arguments.push_back(std::move(argument));
  }
  return command;
}
}  // namespace sisal::cli
