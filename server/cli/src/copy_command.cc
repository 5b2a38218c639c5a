#include "copy_command.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "describe.h"
#include "progress.h"

namespace sisal::cli {
namespace {
// Rows of an import travel in calls of about this size: large enough to hide the call, far below the limit.
constexpr size_t kBatchBytes = size_t{1} << 20;
constexpr uint32_t kBatchRowsMax = 5000;

Error FileError(const std::string& path) { return Error("58030", path + ": " + std::strerror(errno)); }

// Closes what it holds; standard input and output stay open.
class File {
 public:
  explicit File(FILE* file) : file_(file) {}
  ~File() {
    if (file_ != nullptr && file_ != stdin && file_ != stdout) std::fclose(file_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  FILE* get() const { return file_; }
  // False if what was written may not have arrived. Requires: not called before.
  bool Close() {
    FILE* file = std::exchange(file_, nullptr);
    return file == stdout || std::fclose(file) == 0;
  }

 private:
  FILE* file_;
};

// Rows as parameters: one list of texts for each column.
class Batch {
 public:
  void Add(const std::vector<Cell>& record) {
    while (rows_.columns_size() < static_cast<int>(record.size())) rows_.add_columns();
    const uint32_t row = rows_.row_count();
    for (size_t i = 0; i < record.size(); ++i) {
      v1::Column* column = rows_.mutable_columns(static_cast<int>(i));
      column->add_texts(record[i].text);
      std::string* bitmap = column->mutable_null_bitmap();
      if (row % 8 == 0) bitmap->push_back('\0');
      if (record[i].is_null) (*bitmap)[row / 8] = static_cast<char>((*bitmap)[row / 8] | 1 << row % 8);
      bytes_ += record[i].text.size() + 2;
    }
    rows_.set_row_count(row + 1);
  }
  bool full() const { return bytes_ >= kBatchBytes || rows_.row_count() >= kBatchRowsMax; }
  bool empty() const { return rows_.row_count() == 0; }
  uint32_t row_count() const { return rows_.row_count(); }

  v1::ColumnBatch Take() {
    bytes_ = 0;
    return std::exchange(rows_, v1::ColumnBatch());
  }

 private:
  v1::ColumnBatch rows_;
  size_t bytes_ = 0;
};

class NamesOnly final : public RowConsumer {
 public:
  Status Header(const ColumnTypes& columns) override {
    for (const v1::ColumnType& column : columns) names.push_back(column.name());
    return Status();
  }
  Status Rows(const ColumnTypes&, const v1::ColumnBatch&) override { return Status(); }
  std::vector<std::string> names;
};

std::string InsertSql(const CopyCommand& command, const std::vector<std::string>& names) {
  std::string columns;
  std::string values;
  for (size_t i = 0; i < names.size(); ++i) {
    columns.append(i > 0 ? ", " : "").append(QuoteIdentifier(names[i]));
    values.append(i > 0 ? ", $" : "$").append(std::to_string(i + 1));
  }
  // As COPY: the file's values are taken for identity columns too.
  return "INSERT INTO " + command.table + " (" + columns + ") OVERRIDING SYSTEM VALUE VALUES (" + values + ")";
}

class Import {
 public:
  Import(Shell& shell, const CopyCommand& command, FILE* file, uint64_t bytes_total)
      : client_(shell.client()),
        command_(command),
        reader_([file, &command](char* buffer, size_t size) { return Read(file, command.path, buffer, size); },
                command.csv),
        progress_("\\copy " + command.table, bytes_total) {}

  // In the open transaction. Returns how many rows were inserted.
  Result<uint64_t> Run() {
    NamesOnly target;
    SISAL_RETURN_IF_ERROR(client_
                              .Run("SELECT " + (command_.columns.empty() ? std::string("*") : command_.columns) +
                                       " FROM " + command_.table + " LIMIT 0",
                                   target)
                              .status());
    insert_sql_ = InsertSql(command_, target.names);
    SISAL_RETURN_IF_ERROR(ReadHeader(target.names));
    Batch batch;
    std::vector<Cell> record;
    while (true) {
      SISAL_ASSIGN_OR_RETURN(const bool found, reader_.ReadRecord(&record));
      if (found) {
        SISAL_RETURN_IF_ERROR(CheckFieldCount(record.size(), target.names));
        if (batch.empty()) batch_line_ = reader_.record_line();
        batch.Add(record);
      }
      if (batch.full() || (!found && !batch.empty())) SISAL_RETURN_IF_ERROR(Send(&batch));
      if (!found) return row_count_;
    }
  }

 private:
  static Result<size_t> Read(FILE* file, const std::string& path, char* buffer, size_t size) {
    const size_t count = std::fread(buffer, 1, size, file);
    if (count == 0 && std::ferror(file) != 0) return FileError(path.empty() ? "stdin" : path);
    return count;
  }

  Status ReadHeader(const std::vector<std::string>& names) {
    if (command_.header == CopyCommand::Header::kNone) return Status();
    std::vector<Cell> header;
    SISAL_ASSIGN_OR_RETURN(const bool found, reader_.ReadRecord(&header));
    if (!found || command_.header != CopyCommand::Header::kMatch) return Status();
    for (size_t i = 0; i < std::max(header.size(), names.size()); ++i) {
      if (i < header.size() && i < names.size() && header[i].text == names[i]) continue;
      return Error("22P04", "the header's field " + std::to_string(i + 1) + " is " +
                                (i < header.size() ? "\"" + header[i].text + "\"" : "missing") + ", the table's is " +
                                (i < names.size() ? "\"" + names[i] + "\"" : "missing"));
    }
    return Status();
  }

  Status CheckFieldCount(size_t count, const std::vector<std::string>& names) const {
    if (count == names.size()) return Status();
    const std::string line = "Line " + std::to_string(reader_.record_line()) + ".";
    if (count > names.size()) return Error("22P04", "extra data after last expected column").WithDetail(line);
    return Error("22P04", "missing data for column \"" + names[count] + "\"").WithDetail(line);
  }

  Status Send(Batch* batch) {
    if (client_.interrupts().pending()) return Error("57014", "canceling statement due to user request");
    const uint32_t count = batch->row_count();
    v1::Statement statement;
    statement.set_sql(insert_sql_);
    *statement.mutable_param_rows() = batch->Take();
    CollectedRows none;
    Result<Client::Outcome> outcome = client_.Run(std::move(statement), none);
    if (!outcome.ok()) {
      progress_.Clear();
      const std::string detail = outcome.error().detail();
      return std::move(outcome.error())
          .WithDetail(detail + (detail.empty() ? "" : " ") + "Among the " + std::to_string(count) + " rows from line " +
                      std::to_string(batch_line_) + " on.");
    }
    row_count_ += outcome->rows_affected;
    progress_.Show(row_count_, reader_.bytes_read());
    return Status();
  }

  Client& client_;
  const CopyCommand& command_;
  CsvReader reader_;
  Progress progress_;
  std::string insert_sql_;
  uint64_t batch_line_ = 1;  // of the first row in the batch
  uint64_t row_count_ = 0;
};

Result<uint64_t> RunImport(Shell& shell, const CopyCommand& command) {
  if (command.path.empty() && shell.settings().stdin_is_script) {
    return Error("0A000", "\\copy: standard input holds the script; name a file, or give the command with -c");
  }
  const File file(command.path.empty() ? stdin : std::fopen(command.path.c_str(), "re"));
  if (file.get() == nullptr) return FileError(command.path);
  struct stat status = {};
  if (fstat(fileno(file.get()), &status) != 0) return FileError(command.path);
  if (S_ISDIR(status.st_mode)) return Error("58030", command.path + ": Is a directory");
  const uint64_t bytes_total = S_ISREG(status.st_mode) ? static_cast<uint64_t>(status.st_size) : 0;

  Client& client = shell.client();
  const bool own_transaction = client.phase() == Client::Phase::kNone;
  if (own_transaction) SISAL_RETURN_IF_ERROR(client.Begin());
  Result<uint64_t> imported = Import(shell, command, file.get(), bytes_total).Run();
  if (!own_transaction) return imported;
  if (imported.ok()) {
    SISAL_RETURN_IF_ERROR(client.Commit());
  } else {
    static_cast<void>(client.Rollback());  // the first error counts; the lease ends what the server did not hear of
  }
  return imported;
}

// Writes rows to `output` and shows how far it has come.
class ExportRows final : public RowConsumer {
 public:
  ExportRows(Output& output, const CopyCommand& command, bool show_progress)
      : printer_(output, std::make_unique<CsvWriter>(command.header != CopyCommand::Header::kNone,
                                                     command.csv.delimiter, command.csv.null_text)) {
    if (show_progress) progress_.emplace("\\copy " + (command.table.empty() ? "(query)" : command.table), 0);
  }
  Status Header(const ColumnTypes& columns) override { return printer_.Header(columns); }
  Status Rows(const ColumnTypes& columns, const v1::ColumnBatch& batch) override {
    bytes_ += batch.ByteSizeLong();
    SISAL_RETURN_IF_ERROR(printer_.Rows(columns, batch));
    if (progress_.has_value()) progress_->Show(printer_.row_count(), bytes_);
    return Status();
  }
  Status Finish() { return printer_.Finish(); }
  uint64_t row_count() const { return printer_.row_count(); }

 private:
  RowPrinter printer_;
  std::optional<Progress> progress_;
  uint64_t bytes_ = 0;  // as they came
};

Result<uint64_t> ExportTo(Shell& shell, const CopyCommand& command, Output& output) {
  const std::string sql =
      command.table.empty() ? command.query
                            : "SELECT " + (command.columns.empty() ? "*" : command.columns) + " FROM " + command.table;
  ExportRows rows(output, command, /*show_progress=*/!command.path.empty());
  const Result<Client::Outcome> outcome = shell.client().Run(sql, rows);
  if (!outcome.ok()) return outcome.error();
  if (!outcome->has_rows) return Error("0A000", "\\copy: the statement returns no rows");
  shell.PrintWarnings(outcome->warnings);
  SISAL_RETURN_IF_ERROR(rows.Finish());
  return rows.row_count();
}

// A file is written under another name and renamed when it is whole: what has the right name is never half a result.
Result<uint64_t> RunExport(Shell& shell, const CopyCommand& command) {
  if (command.path.empty()) return ExportTo(shell, command, shell.output());
  struct stat status = {};
  const bool in_place = stat(command.path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
  const std::string path = in_place ? command.path : command.path + ".partial";
  File file(std::fopen(path.c_str(), "we"));
  if (file.get() == nullptr) return FileError(command.path);
  Output output(file.get());
  Result<uint64_t> exported = ExportTo(shell, command, output);
  const bool closed = file.Close();
  if (exported.ok() && !closed) exported = FileError(path);
  if (in_place) return exported;
  if (exported.ok() && std::rename(path.c_str(), command.path.c_str()) != 0) exported = FileError(command.path);
  if (!exported.ok()) std::remove(path.c_str());
  return exported;
}
}  // namespace

Verdict RunCopy(Shell& shell, std::string_view arguments) {
  Result<CopyCommand> command = ParseCopy(arguments);
  if (!command.ok()) return shell.ReportError(command.error(), "");
  command->path = ExpandTilde(command->path);
  const auto start = std::chrono::steady_clock::now();
  const Result<uint64_t> count = command->from_file ? RunImport(shell, *command) : RunExport(shell, *command);
  if (!count.ok()) return shell.ReportError(count.error(), command->query);
  if (command->from_file || !command->path.empty()) shell.PrintNote("COPY " + std::to_string(*count));
  if (shell.settings().timing) shell.PrintTiming(start);
  return Verdict::kGoOn;
}
}  // namespace sisal::cli
