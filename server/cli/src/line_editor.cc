#include "line_editor.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// After stdio.h, which it needs.
#include <editline/readline.h>

#include <deque>
#include <fstream>
#include <utility>

#include "interrupt.h"

namespace sisal::cli {
namespace {
constexpr int kHistoryEntriesMax = 2000;

LineEditor* editor = nullptr;  // libedit's callbacks have no argument of ours
volatile sig_atomic_t interrupted = 0;

void OnSigint(int) { interrupted = 1; }

// Completes with the strings of `candidates`, one at each call, as libedit wants it.
std::vector<std::string> candidates;
char* NextCandidate(const char*, int state) {
  static size_t next = 0;
  if (state == 0) next = 0;
  return next < candidates.size() ? strdup(candidates[next++].c_str()) : nullptr;
}

char** Complete(const char* word, int start, int) {
  const std::string before(rl_line_buffer, static_cast<size_t>(start));
  const bool wants_file = before.starts_with("\\i ") || (before.starts_with("\\copy ") && before.ends_with("'"));
  if (wants_file) return nullptr;  // libedit's own completion of file names
  rl_attempted_completion_over = 1;
  candidates = editor->CandidatesFor(word, static_cast<size_t>(start));
  return candidates.empty() ? nullptr : rl_completion_matches(word, NextCandidate);
}
}  // namespace

LineEditor::LineEditor(SchemaCache& schema, std::string history_path)
    : schema_(schema), history_path_(std::move(history_path)) {
  editor = this;
  rl_readline_name = "sisal";
  rl_catch_signals = 1;  // for the window's size and for stopping; SIGINT reaches the handler that Next sets
  rl_initialize();
  using_history();
  stifle_history(kHistoryEntriesMax);
  LoadHistory();
  static char word_breaks[] = " \t\n'`@$><=;|&{(,)+-*/%[]:";
  rl_basic_word_break_characters = word_breaks;  // libedit looks at this one only
  rl_completer_word_break_characters = word_breaks;
  rl_attempted_completion_function = Complete;
}

LineEditor::~LineEditor() { editor = nullptr; }

void LineEditor::LoadHistory() {
  std::ifstream file(history_path_);
  std::deque<std::string> lines;
  size_t line_count = 0;
  for (std::string line; std::getline(file, line); ++line_count) {
    lines.push_back(std::move(line));
    if (lines.size() > static_cast<size_t>(kHistoryEntriesMax)) lines.pop_front();
  }
  for (const std::string& line : lines) add_history(DecodeHistoryLine(line).c_str());
  if (line_count < 2 * static_cast<size_t>(kHistoryEntriesMax)) return;
  std::ofstream rewritten(history_path_, std::ios::trunc);  // keeps the file's owner and rights
  for (const std::string& line : lines) rewritten << line << '\n';
}

LineSource::Event LineEditor::Next(const std::string& prompt, std::string* line) {
  struct sigaction action = {};
  action.sa_handler = OnSigint;  // without SA_RESTART: the read of the terminal returns
  struct sigaction before = {};
  sigaction(SIGINT, &action, &before);
  interrupted = 0;
  char* text = nullptr;
  {
    const ScopedSigint unblock(ScopedSigint::Action::kUnblock);
    text = readline(prompt.c_str());
  }
  sigaction(SIGINT, &before, nullptr);
  if (interrupted != 0) {
    free(text);
    statement_.clear();
    fputs("\n", stdout);
    return Event::kInterrupted;
  }
  if (text == nullptr) {
    fputs("\\q\n", stdout);
    return Event::kEnd;
  }
  *line = std::string(text) + "\n";
  free(text);
  statement_ += *line;
  return Event::kLine;
}

void LineEditor::Remember(const std::string& entry) {
  statement_.clear();
  const size_t end = entry.find_last_not_of(" \t\n");
  const std::string text = end == std::string::npos ? "" : entry.substr(0, end + 1);
  if (text.empty() || text == last_entry_) return;
  last_entry_ = text;
  add_history(text.c_str());
  if (history_path_.empty()) return;
  // At once, so that nothing is lost and two terminals add to one file. What cannot be kept is no reason to complain.
  const int file = open(history_path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) return;
  const std::string line = EncodeHistoryLine(text) + "\n";
  static_cast<void>(!write(file, line.data(), line.size()));
  close(file);
}

std::vector<std::string> LineEditor::CandidatesFor(const std::string& word, size_t word_start) {
  const std::string before = statement_ + std::string(rl_line_buffer, word_start);
  return Candidates(before, word, schema_.Names());
}

std::string EncodeHistoryLine(std::string_view entry) {
  std::string line;
  for (const char c : entry) {
    if (c == '\\') line += "\\\\";
    if (c == '\n') line += "\\n";
    if (c != '\\' && c != '\n') line.push_back(c);
  }
  return line;
}

std::string DecodeHistoryLine(std::string_view line) {
  std::string entry;
  for (size_t i = 0; i < line.size(); ++i) {
    const bool escape = line[i] == '\\' && i + 1 < line.size();
    if (escape) ++i;
    entry.push_back(escape && line[i] == 'n' ? '\n' : line[i]);
  }
  return entry;
}
}  // namespace sisal::cli
