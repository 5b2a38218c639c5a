#include <algorithm>

#include "row_writer.h"
#include "text_width.h"

namespace sisal::cli {
namespace {
size_t WidthOf(const std::vector<DisplayLine>& lines) {
  size_t width = 0;
  for (const DisplayLine& line : lines) width = std::max(width, line.width);
  return width;
}

void AppendCentred(const DisplayLine& line, size_t width, std::string* out) {
  const size_t blanks = width > line.width ? width - line.width : 0;
  out->append(blanks / 2, ' ').append(line.text).append(blanks - blanks / 2, ' ');
}

size_t BytesOf(const std::vector<Cell>& cells) {
  size_t bytes = 0;
  for (const Cell& cell : cells) bytes += sizeof(Cell) + cell.text.size();
  return bytes;
}
}  // namespace

void AlignedWriter::Begin(const ColumnTypes& columns, std::string*) {
  for (const v1::ColumnType& column : columns) {
    names_.push_back(column.name());
    numbers_.push_back(IsNumber(column));
    widths_.push_back(WidthOf(LayOut(column.name())));
    name_width_ = std::max(name_width_, widths_.back());
  }
}

void AlignedWriter::Row(const std::vector<Cell>& cells, std::string* out) {
  ++rows_;
  if (!measuring_) {
    options_.expanded ? WriteExpanded(cells, rows_, out) : WriteRow(cells, out);
    return;
  }
  for (size_t i = 0; i < cells.size(); ++i) {
    const size_t width = WidthOf(LayOut(TextOf(cells[i])));
    widths_[i] = std::max(widths_[i], width);
    value_width_ = std::max(value_width_, width);
  }
  held_.push_back(cells);
  held_bytes_ += BytesOf(cells);
  if (held_.size() >= kMeasuredRowsMax || held_bytes_ >= kMeasuredBytesMax) WriteHeld(out);
}

void AlignedWriter::End(std::string* out) {
  if (measuring_) WriteHeld(out);
  if (options_.row_count && (rows_ == 0 || !options_.expanded)) {
    out->append("(" + std::to_string(rows_) + (rows_ == 1 ? " row)\n" : " rows)\n"));
  }
  out->push_back('\n');
}

void AlignedWriter::WriteHeld(std::string* out) {
  measuring_ = false;
  if (options_.expanded) {
    if (!options_.title.empty()) out->append(options_.title + "\n");
    uint64_t number = 0;
    for (const std::vector<Cell>& cells : held_) WriteExpanded(cells, ++number, out);
  } else {
    WriteHeader(out);
    for (const std::vector<Cell>& cells : held_) WriteRow(cells, out);
  }
  held_ = {};
}

void AlignedWriter::WriteHeader(std::string* out) const {
  if (!options_.title.empty()) {
    size_t table_width = widths_.empty() ? 0 : widths_.size() * 3 - 1;
    for (const size_t width : widths_) table_width += width;
    const std::vector<DisplayLine> title = LayOut(options_.title);
    const size_t blanks = table_width > title[0].width ? (table_width - title[0].width) / 2 : 0;
    out->append(blanks, ' ').append(title[0].text).push_back('\n');
  }
  std::vector<std::vector<DisplayLine>> lines;
  size_t height = 0;
  for (const std::string& name : names_) {
    lines.push_back(LayOut(name));
    height = std::max(height, lines.back().size());
  }
  for (size_t row = 0; row < height; ++row) {
    for (size_t i = 0; i < lines.size(); ++i) {
      const bool filled = row < lines[i].size();
      out->append(i > 0 ? "| " : " ");
      AppendCentred(filled ? lines[i][row] : DisplayLine(), widths_[i], out);
      out->push_back(row + 1 < lines[i].size() ? '+' : ' ');
    }
    out->push_back('\n');
  }
  if (widths_.empty()) out->append("--");
  for (size_t i = 0; i < widths_.size(); ++i) {
    if (i > 0) out->push_back('+');
    out->append(widths_[i] + 2, '-');
  }
  out->push_back('\n');
}

void AlignedWriter::WriteRow(const std::vector<Cell>& cells, std::string* out) const {
  if (cells.empty()) return;
  std::vector<std::vector<DisplayLine>> lines;
  size_t height = 0;
  for (const Cell& cell : cells) {
    lines.push_back(LayOut(TextOf(cell)));
    height = std::max(height, lines.back().size());
  }
  for (size_t row = 0; row < height; ++row) {
    for (size_t i = 0; i < lines.size(); ++i) {
      const DisplayLine line = row < lines[i].size() ? lines[i][row] : DisplayLine();
      const bool goes_on = row + 1 < lines[i].size();
      const bool last = i + 1 == lines.size();
      const size_t blanks = widths_[i] > line.width ? widths_[i] - line.width : 0;
      out->append(i > 0 ? "| " : " ");
      if (numbers_[i]) out->append(blanks, ' ');
      out->append(line.text);
      if (!numbers_[i] && (!last || goes_on)) out->append(blanks, ' ');
      if (goes_on) {
        out->push_back('+');
      } else if (!last) {
        out->push_back(' ');
      }
    }
    out->push_back('\n');
  }
}

void AlignedWriter::WriteExpanded(const std::vector<Cell>& cells, uint64_t number, std::string* out) const {
  std::string rule(name_width_ + 1, '-');
  rule.append("+").append(value_width_ + 1, '-');
  const std::string label = "-[ RECORD " + std::to_string(number) + " ]";
  rule.replace(0, std::min(label.size(), rule.size()), label);
  out->append(rule).push_back('\n');
  for (size_t i = 0; i < cells.size(); ++i) {
    const std::vector<DisplayLine> name = LayOut(names_[i]);
    const std::vector<DisplayLine> value = LayOut(TextOf(cells[i]));
    for (size_t row = 0; row < std::max(name.size(), value.size()); ++row) {
      const DisplayLine left = row < name.size() ? name[row] : DisplayLine();
      out->append(left.text).append(name_width_ - left.width, ' ');
      out->append(row + 1 < name.size() ? "+|" : " |");
      if (row < value.size()) {
        const bool goes_on = row + 1 < value.size();
        const size_t blanks = value_width_ > value[row].width ? value_width_ - value[row].width : 0;
        out->append(" ").append(value[row].text);
        if (goes_on) out->append(blanks, ' ').append("+");
      }
      out->push_back('\n');
    }
  }
}
}  // namespace sisal::cli
