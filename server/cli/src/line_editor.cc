#include "line_editor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// After stdio.h, which it needs.
#include <editline/readline.h>

#include <cwchar>
#include <deque>
#include <fstream>
#include <iterator>
#include <utility>

#include "interrupt.h"

namespace sisal::cli {
namespace {
constexpr int kHistoryEntriesMax = 2000;

LineEditor* editor = nullptr;   // libedit's callbacks have no argument of ours
int signal_pipe[2] = {-1, -1};  // what the handler saw, for ReadCharacter
bool interrupted = false;       // the line was given up with SIGINT

constexpr int kSignals[] = {SIGINT, SIGWINCH, SIGTSTP};

void OnSignal(int number) {
  const int saved_errno = errno;
  const char byte = static_cast<char>(number);
  static_cast<void>(!write(signal_pipe[1], &byte, 1));
  errno = saved_errno;
}

// While it lives, our signals go to OnSignal.
class SignalHandlers {
 public:
  SignalHandlers() {
    struct sigaction action = {};
    action.sa_handler = OnSignal;
    for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &action, &before_[i]);
  }
  ~SignalHandlers() {
    for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &before_[i], nullptr);
  }
  SignalHandlers(const SignalHandlers&) = delete;
  SignalHandlers& operator=(const SignalHandlers&) = delete;

 private:
  struct sigaction before_[std::size(kSignals)] = {};
};

// Ctrl-Z: stops with the terminal as the shell knows it, and draws the line again afterwards.
void Suspend() {
  rl_deprep_terminal();
  struct sigaction stop = {};
  stop.sa_handler = SIG_DFL;
  struct sigaction before = {};
  sigaction(SIGTSTP, &stop, &before);
  raise(SIGTSTP);
  sigaction(SIGTSTP, &before, nullptr);
  rl_prep_terminal(1);
  rl_forced_update_display();
}

// False: the line is given up.
bool HandleSignal() {
  char number = 0;
  if (read(signal_pipe[0], &number, 1) != 1) return true;
  if (number == SIGINT) interrupted = true;
  if (number == SIGWINCH) rl_resize_terminal();
  if (number == SIGTSTP) Suspend();
  return number != SIGINT;
}

// The next character for libedit, or -1 for the end. libedit's own handlers are of no use here: on SIGINT they signal
// the whole process group once more, and which of our threads gets that is up to the kernel.
int ReadCharacter(FILE*) {
  std::mbstate_t state = {};
  while (true) {
    pollfd inputs[] = {{STDIN_FILENO, POLLIN, 0}, {signal_pipe[0], POLLIN, 0}};
    if (poll(inputs, std::size(inputs), -1) < 0) {
      if (errno == EINTR) continue;
      return -1;
    }
    if ((inputs[1].revents & POLLIN) != 0) {
      if (!HandleSignal()) return -1;
      continue;
    }
    char byte = 0;
    if (read(STDIN_FILENO, &byte, 1) != 1) return -1;
    wchar_t character = 0;
    const size_t length = std::mbrtowc(&character, &byte, 1, &state);
    if (length == static_cast<size_t>(-1)) {
      state = {};  // no UTF-8: dropped
    } else if (length != static_cast<size_t>(-2)) {
      return static_cast<int>(character);
    }
  }
}

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
  rl_catch_signals = 0;
  rl_getc_function = ReadCharacter;
  if (pipe2(signal_pipe, O_CLOEXEC | O_NONBLOCK) != 0) signal_pipe[0] = signal_pipe[1] = -1;  // then signals are lost
  rl_initialize();
  using_history();
  stifle_history(kHistoryEntriesMax);
  LoadHistory();
  static char word_breaks[] = " \t\n'`@$><=;|&{(,)+-*/%[]:";
  rl_basic_word_break_characters = word_breaks;  // libedit looks at this one only
  rl_completer_word_break_characters = word_breaks;
  rl_attempted_completion_function = Complete;
}

LineEditor::~LineEditor() {
  editor = nullptr;
  for (const int end : signal_pipe) close(end);
}

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
  interrupted = false;
  char* text = nullptr;
  {
    const SignalHandlers handlers;
    const ScopedSigint unblock(ScopedSigint::Action::kUnblock);
    text = readline(prompt.c_str());
  }
  if (interrupted) {
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
