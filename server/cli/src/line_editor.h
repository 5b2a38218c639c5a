// Lines typed at a terminal: editing, history and completion through libedit.
//
// Concurrency: confined to the main thread; at most one exists, since libedit's state is global.
#pragma once

#include <string>
#include <vector>

#include "completion.h"
#include "shell.h"

namespace sisal::cli {
class LineEditor final : public LineSource {
 public:
  // `history_path`: empty for no history file.
  LineEditor(SchemaCache& schema, std::string history_path);
  ~LineEditor() override;
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  Event Next(const std::string& prompt, std::string* line) override;
  bool interactive() const override { return true; }
  // A statement of several lines is one entry.
  void Remember(const std::string& entry) override;

  // For libedit's callbacks: candidates for the word that ends at the cursor.
  std::vector<std::string> CandidatesFor(const std::string& word, size_t word_start);

 private:
  void LoadHistory();

  SchemaCache& schema_;
  const std::string history_path_;
  std::string statement_;  // the lines before this one
  std::string last_entry_;
};

// The history file has one entry on each line: a newline in it is \n and a backslash is doubled.
std::string EncodeHistoryLine(std::string_view entry);
std::string DecodeHistoryLine(std::string_view line);
}  // namespace sisal::cli
