// Rows as text: aligned columns as psql draws them, CSV, JSON.
//
// A writer appends to a string that its caller empties into a file now and then, so that memory stays bounded however
// many rows there are. The aligned forms hold back the first rows to learn how wide the columns are.
//
// Concurrency: externally synchronised. One writer writes one result.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "value_format.h"

namespace sisal::cli {
enum class Format { kAligned, kCsv, kJson };
// False: `name` is none of aligned, csv, json.
bool ParseFormat(std::string_view name, Format* format);

struct DisplayOptions {
  Format format = Format::kAligned;
  bool expanded = false;  // one line for each value; aligned only
  bool row_count = true;  // "(2 rows)" below; aligned only
  std::string null_text;  // aligned only: CSV writes nothing and JSON null
  std::string title;      // above the rows; aligned only
};

class RowWriter {
 public:
  virtual ~RowWriter() = default;
  // In this order: Begin once, Row for each row, End once.
  virtual void Begin(const ColumnTypes& columns, std::string* out) = 0;
  virtual void Row(const std::vector<Cell>& cells, std::string* out) = 0;
  virtual void End(std::string* out) = 0;
};

std::unique_ptr<RowWriter> MakeRowWriter(const DisplayOptions& options);

// RFC 4180 with a newline for a line's end: NULL is empty, the empty string is "".
class CsvWriter final : public RowWriter {
 public:
  explicit CsvWriter(bool header = true, char delimiter = ',', std::string null_text = "")
      : header_(header), delimiter_(delimiter), null_text_(std::move(null_text)) {}
  void Begin(const ColumnTypes& columns, std::string* out) override;
  void Row(const std::vector<Cell>& cells, std::string* out) override;
  void End(std::string*) override {}

 private:
  void AppendField(std::string_view text, bool alone, std::string* out) const;

  const bool header_;
  const char delimiter_;
  const std::string null_text_;
};

// One array of objects. Integers up to 2^53 and floats are numbers; what a reader that knows only doubles would round
// or cannot take (NUMERIC, larger integers, NaN, Infinity) is a string, as is every other type; JSON stays JSON.
// Of columns with the same name the later ones get "_2", "_3", ...
class JsonWriter final : public RowWriter {
 public:
  void Begin(const ColumnTypes& columns, std::string* out) override;
  void Row(const std::vector<Cell>& cells, std::string* out) override;
  void End(std::string* out) override;

 private:
  std::vector<std::string> keys_;  // "\"name\":"
  std::vector<v1::TypeCode> types_;
  bool first_ = true;
};

// " id | name " over "----+------", as psql's aligned format with border 1.
class AlignedWriter final : public RowWriter {
 public:
  // Columns are as wide as the widest value of the first rows; a later value that is wider pushes its row's rest
  // to the right.
  static constexpr size_t kMeasuredRowsMax = 1000;
  static constexpr size_t kMeasuredBytesMax = size_t{8} << 20;

  explicit AlignedWriter(const DisplayOptions& options) : options_(options) {}
  void Begin(const ColumnTypes& columns, std::string* out) override;
  void Row(const std::vector<Cell>& cells, std::string* out) override;
  void End(std::string* out) override;

 private:
  void WriteHeld(std::string* out);
  void WriteHeader(std::string* out) const;
  void WriteRow(const std::vector<Cell>& cells, std::string* out) const;
  void WriteExpanded(const std::vector<Cell>& cells, uint64_t number, std::string* out) const;
  std::string_view TextOf(const Cell& cell) const { return cell.is_null ? options_.null_text : cell.text; }

  const DisplayOptions options_;
  std::vector<std::string> names_;
  std::vector<bool> numbers_;  // to the right
  std::vector<size_t> widths_;
  size_t name_width_ = 0;   // expanded: of the names' column
  size_t value_width_ = 0;  // expanded: of the values' column
  std::vector<std::vector<Cell>> held_;
  size_t held_bytes_ = 0;
  bool measuring_ = true;
  uint64_t rows_ = 0;
};
}  // namespace sisal::cli
