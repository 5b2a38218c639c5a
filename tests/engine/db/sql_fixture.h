// A database in a directory of its own, and statements in, text out.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>

#include "sisal/db/database.h"
#include "sisal/io/runtime.h"
#include "sisal/io/sync.h"
#include "sisal/type/datum.h"

namespace sisal::db {

// Everything that suspends runs on the test's own thread, attached as a loop.
class SqlFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "sisal-db-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
    auto runtime = io::Runtime::Start({.loop_count = 2});
    ASSERT_TRUE(runtime.ok()) << runtime.error().ToString();
    runtime_ = *std::move(runtime);
    attached_ = std::make_unique<io::AttachedThread>(*runtime_);
    options_.store.log.segment_bytes = 1 << 20;
    Open();
  }
  void TearDown() override {
    Close();
    attached_.reset();
    runtime_.reset();
    std::filesystem::remove_all(directory_);
  }
  void Open() {
    auto database = Database::Open(*runtime_, directory_, options_, nullptr);
    ASSERT_TRUE(database.ok()) << database.error().ToString();
    database_ = *std::move(database);
    session_ = database_->NewSession();
  }
  void Close() {
    session_.reset();
    if (database_ == nullptr) return;
    const Status closed = database_->Close();
    EXPECT_TRUE(closed.ok()) << closed.ToString();
    database_.reset();
  }
  void Reopen() {
    Close();
    Open();
  }

  // "1|a\n2|NULL\n" for rows, "INSERT 3" for a write, "CREATE TABLE" for a command, "ERROR 42P01: message".
  static std::string Run(Session& session, std::string_view sql, std::vector<type::Datum> params = {}) {
    auto prepared = session.Prepare(sql, {});
    if (!prepared.ok()) return "ERROR " + prepared.error().ToString();
    auto result = session.Execute(*prepared, std::move(params), {});
    if (!result.ok()) return "ERROR " + result.error().ToString();
    std::string text;
    for (;;) {
      type::Chunk chunk;
      const Status status = (*result)->Next(chunk);
      if (!status.ok()) return "ERROR " + status.ToString();
      if (chunk.row_count == 0) break;
      for (uint32_t row = 0; row < chunk.row_count; ++row) AppendRow(chunk, row, text);
    }
    const sql::Statement& statement = (*result)->statement();
    if (statement.returns_rows) return text;
    text = std::string((*result)->command());
    const bool counts = text == "INSERT" || text == "UPDATE" || text == "DELETE";
    return counts ? text + " " + std::to_string((*result)->rows_affected()) : text;
  }
  std::string Run(std::string_view sql, std::vector<type::Datum> params = {}) {
    return Run(*session_, sql, std::move(params));
  }

  // All of them succeed.
  void Do(std::initializer_list<const char*> statements) {
    for (const char* sql : statements) Check(*session_, sql);
  }
  static void Check(Session& session, const char* sql) {
    const std::string answer = Run(session, sql);
    EXPECT_FALSE(answer.starts_with("ERROR")) << sql << ": " << answer;
  }
  // Runs `sql` in `session` until it waits for `holder`, then calls `meanwhile`; what `sql` gave.
  std::string RunBlocked(Session& session, std::string_view sql, Session& holder,
                         const std::function<void()>& meanwhile) {
    std::string outcome;
    io::Event done;
    runtime_->Spawn({}, [&] {
      outcome = Run(session, sql);
      done.Set();
    });
    while (!holder.transaction()->blocks_others()) io::Yield();
    meanwhile();
    done.Wait();
    return outcome;
  }

  static void AppendRow(const type::Chunk& chunk, uint32_t row, std::string& text) {
    for (size_t c = 0; c < chunk.columns.size(); ++c) {
      const type::Vector& column = chunk.columns[c];
      if (c > 0) text += '|';
      text += column.IsNull(row) ? "NULL" : type::FormatText(column.type, column.ToDatum(row), {});
    }
    text += '\n';
  }

  std::string directory_;
  DatabaseOptions options_;
  std::unique_ptr<io::Runtime> runtime_;
  std::unique_ptr<io::AttachedThread> attached_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<Session> session_;
};

}  // namespace sisal::db
