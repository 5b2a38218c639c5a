#include "row_writer.h"

#include <charconv>
#include <cstdlib>
#include <set>

namespace sisal::cli {
namespace {
void AppendJsonString(std::string_view text, std::string* out) {
  constexpr char kHex[] = "0123456789abcdef";
  out->push_back('"');
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out->push_back('\\');
      out->push_back(c);
    } else if (c == '\n') {
      out->append("\\n");
    } else if (c == '\t') {
      out->append("\\t");
    } else if (c == '\r') {
      out->append("\\r");
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out->append("\\u00").append(1, kHex[c >> 4]).append(1, kHex[c & 15]);
    } else {
      out->push_back(c);
    }
  }
  out->push_back('"');
}

// Whether a reader that keeps numbers as doubles gets this very integer.
bool IsExactAsDouble(std::string_view integer) {
  constexpr int64_t kMax = int64_t{1} << 53;
  int64_t value = 0;
  const auto parsed = std::from_chars(integer.data(), integer.data() + integer.size(), value);
  return parsed.ec == std::errc() && value >= -kMax && value <= kMax;
}

void AppendJsonValue(v1::TypeCode type, const Cell& cell, std::string* out) {
  if (cell.is_null) return static_cast<void>(out->append("null"));
  bool bare = false;
  switch (type) {
    case v1::TYPE_CODE_BOOLEAN:
      return static_cast<void>(out->append(cell.text == "t" ? "true" : "false"));
    case v1::TYPE_CODE_SMALLINT:
    case v1::TYPE_CODE_INTEGER:
    case v1::TYPE_CODE_BIGINT:
      bare = IsExactAsDouble(cell.text);
      break;
    case v1::TYPE_CODE_REAL:
    case v1::TYPE_CODE_DOUBLE:
      bare = cell.text != "NaN" && cell.text != "Infinity" && cell.text != "-Infinity";
      break;
    case v1::TYPE_CODE_JSON:
    case v1::TYPE_CODE_JSONB:
      bare = true;
      break;
    default:
      break;
  }
  bare ? static_cast<void>(out->append(cell.text)) : AppendJsonString(cell.text, out);
}
}  // namespace

bool ParseFormat(std::string_view name, Format* format) {
  if (name != "aligned" && name != "csv" && name != "json") return false;
  *format = name == "aligned" ? Format::kAligned : name == "csv" ? Format::kCsv : Format::kJson;
  return true;
}

std::unique_ptr<RowWriter> MakeRowWriter(const DisplayOptions& options) {
  switch (options.format) {
    case Format::kCsv:
      return std::make_unique<CsvWriter>();
    case Format::kJson:
      return std::make_unique<JsonWriter>();
    case Format::kAligned:
      break;
  }
  return std::make_unique<AlignedWriter>(options);
}

void CsvWriter::Begin(const ColumnTypes& columns, std::string* out) {
  if (!header_) return;
  for (int i = 0; i < columns.size(); ++i) {
    if (i > 0) out->push_back(delimiter_);
    AppendField(columns.Get(i).name(), columns.size() == 1, out);
  }
  out->push_back('\n');
}

void CsvWriter::Row(const std::vector<Cell>& cells, std::string* out) {
  for (size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) out->push_back(delimiter_);
    cells[i].is_null ? static_cast<void>(out->append(null_text_)) : AppendField(cells[i].text, cells.size() == 1, out);
  }
  out->push_back('\n');
}

void CsvWriter::AppendField(std::string_view text, bool alone, std::string* out) const {
  bool quote = text.empty() || text == null_text_;
  for (const char c : text) quote = quote || c == delimiter_ || c == '"' || c == '\n' || c == '\r';
  quote = quote || (alone && text == "\\.");  // PostgreSQL's end-of-data mark
  if (!quote) return static_cast<void>(out->append(text));
  out->push_back('"');
  for (const char c : text) {
    if (c == '"') out->push_back('"');
    out->push_back(c);
  }
  out->push_back('"');
}

void JsonWriter::Begin(const ColumnTypes& columns, std::string* out) {
  std::set<std::string> names;
  for (const v1::ColumnType& column : columns) names.insert(column.name());
  std::set<std::string> used;
  for (const v1::ColumnType& column : columns) {
    std::string name = column.name();
    for (int copy = 2; used.contains(name); ++copy) {
      const std::string numbered = column.name() + "_" + std::to_string(copy);
      if (!names.contains(numbered)) name = numbered;
    }
    used.insert(name);
    std::string key;
    AppendJsonString(name, &key);
    keys_.push_back(key + ":");
    types_.push_back(column.array() ? v1::TYPE_CODE_TEXT : column.type());
  }
  out->append("[");
}

void JsonWriter::Row(const std::vector<Cell>& cells, std::string* out) {
  out->append(first_ ? "\n{" : ",\n{");
  first_ = false;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) out->push_back(',');
    out->append(keys_[i]);
    AppendJsonValue(types_[i], cells[i], out);
  }
  out->push_back('}');
}

void JsonWriter::End(std::string* out) { out->append(first_ ? "]\n" : "\n]\n"); }
}  // namespace sisal::cli
