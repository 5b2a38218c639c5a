#include "client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <thread>

#include "copy_command.h"
#include "fake_server.h"
#include "shell.h"
#include "sisal/testing/status_matchers.h"

namespace sisal::cli {
namespace {
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// The header of one column of integers, and a chunk of `values`.
void AddHeader(v1::ResultHeader* header) {
  header->add_columns()->set_name("n");
  header->mutable_columns(0)->set_type(v1::TYPE_CODE_INTEGER);
}
void AddRows(std::initializer_list<int> values, v1::ResultChunk* chunk) {
  chunk->mutable_batch()->set_row_count(static_cast<uint32_t>(values.size()));
  v1::Column* column = chunk->mutable_batch()->add_columns();
  for (const int value : values) column->add_integers(value);
}
void SetState(v1::TransactionPhase phase, v1::ExecuteResponse* response) {
  response->mutable_trailer()->mutable_transaction()->set_handle("h1");
  response->mutable_trailer()->mutable_transaction()->set_phase(phase);
}

class ClientTest : public ::testing::Test {
 protected:
  ClientTest() : client_(server_.address(), interrupts_) {
    // BEGIN, COMMIT and ROLLBACK as a server has them; a statement that begins with "bad" fails.
    server_.on_execute = [](grpc::ServerContext*, const v1::ExecuteRequest& request, v1::ExecuteResponse* response) {
      const std::string& sql = request.statement().sql();
      if (sql.starts_with("bad")) return SqlStatus("42601", "syntax error");
      if (sql == "BEGIN") SetState(v1::TRANSACTION_PHASE_ACTIVE, response);
      if (sql == "COMMIT") SetState(v1::TRANSACTION_PHASE_COMMITTED, response);
      if (sql == "ROLLBACK") SetState(v1::TRANSACTION_PHASE_ROLLED_BACK, response);
      response->mutable_trailer()->set_command(sql);
      return grpc::Status();
    };
  }

  std::vector<std::string> SentHandles() const {
    std::vector<std::string> handles;
    for (const v1::ExecuteRequest& request : server_.executed) handles.push_back(request.transaction().handle());
    return handles;
  }

  Interrupts interrupts_{Interrupts::WhenIdle::kRemember};  // before all threads of gRPC's
  FakeServer server_;
  Client client_;
  CollectedRows rows_;
};

TEST_F(ClientTest, HandleOfBeginIsCarriedUntilCommit) {
  for (const std::string sql : {"X", "BEGIN", "Y", "COMMIT", "Z"}) EXPECT_OK(client_.Run(sql, rows_));
  EXPECT_THAT(server_.calls, ElementsAre("begin"));
  EXPECT_THAT(SentHandles(), ElementsAre("", "h1", "h1", ""));
  EXPECT_EQ(client_.phase(), Client::Phase::kNone);
}

TEST_F(ClientTest, ModesOfBeginAreSet) {
  EXPECT_OK(client_.Run("BEGIN READ ONLY", rows_));
  EXPECT_EQ(server_.executed.back().statement().sql(), "SET TRANSACTION READ ONLY");
  EXPECT_EQ(client_.phase(), Client::Phase::kOpen);
}

TEST_F(ClientTest, WrongModesOfBeginAreReportedByBeginItself) {
  server_.on_execute = [](auto...) { return SqlStatus("42601", "syntax error"); };
  EXPECT_SQLSTATE(client_.Run("BEGIN bad", rows_), "42601");
  EXPECT_THAT(server_.calls, ElementsAre("begin", "rollback"));
  EXPECT_EQ(server_.executed.back().statement().sql(), "BEGIN bad");
  EXPECT_EQ(client_.phase(), Client::Phase::kNone);
}

TEST_F(ClientTest, FailedTransactionStaysUntilRollback) {
  EXPECT_OK(client_.Run("BEGIN", rows_));
  EXPECT_SQLSTATE(client_.Run("bad", rows_), "42601");
  EXPECT_EQ(client_.phase(), Client::Phase::kFailed);
  EXPECT_OK(client_.Run("ROLLBACK", rows_));
  EXPECT_THAT(SentHandles(), ElementsAre("h1", "h1"));
  EXPECT_EQ(client_.phase(), Client::Phase::kNone);
}

TEST_F(ClientTest, UsableTransactionStaysOpenAfterAnError) {
  EXPECT_OK(client_.Run("BEGIN", rows_));
  server_.on_execute = [](auto...) { return SqlStatus("55P03", "locked", /*transaction_usable=*/true); };
  EXPECT_SQLSTATE(client_.Run("X", rows_), "55P03");
  EXPECT_EQ(client_.phase(), Client::Phase::kOpen);
}

TEST_F(ClientTest, AsideRunsOutsideOfTheTransaction) {
  EXPECT_OK(client_.Run("BEGIN", rows_));
  EXPECT_SQLSTATE(client_.RunAside("bad", rows_, std::chrono::seconds(60)), "42601");
  EXPECT_THAT(SentHandles(), ElementsAre(""));
  EXPECT_EQ(client_.phase(), Client::Phase::kOpen);
}

TEST_F(ClientTest, LostAnswerToCommitIsLookedUp) {
  EXPECT_OK(client_.Run("BEGIN", rows_));
  server_.on_execute = [](auto...) { return grpc::Status(grpc::StatusCode::UNAVAILABLE, "gone"); };
  server_.on_get_transaction = [](v1::GetTransactionResponse* response) {
    response->mutable_transaction()->set_phase(v1::TRANSACTION_PHASE_COMMITTED);
    return grpc::Status();
  };
  const auto outcome = client_.Run("COMMIT", rows_);
  EXPECT_SQLSTATE(outcome, "08006");
  EXPECT_EQ(outcome.error().detail(), "The transaction was committed.");
  EXPECT_EQ(client_.phase(), Client::Phase::kNone);
}

TEST_F(ClientTest, RestOfALargeResultIsStreamed) {
  server_.on_execute = [](grpc::ServerContext*, const v1::ExecuteRequest&, v1::ExecuteResponse* response) {
    AddHeader(response->mutable_header());
    AddRows({1, 2}, response->mutable_chunk());
    response->set_more("token");
    return grpc::Status();
  };
  server_.on_query = [](grpc::ServerContext*, const v1::QueryRequest& request, auto* writer) {
    EXPECT_EQ(request.resume_token(), "token");
    EXPECT_EQ(request.statement().sql(), "SELECT n");
    v1::QueryResponse response;
    AddHeader(response.mutable_header());
    AddRows({3}, response.mutable_chunk());
    writer->Write(response);
    response.Clear();
    AddRows({4, 5}, response.mutable_chunk());
    response.mutable_trailer()->set_command("SELECT");
    writer->Write(response);
    return grpc::Status();
  };
  EXPECT_OK(client_.Run("SELECT n", rows_));
  ASSERT_EQ(rows_.rows.size(), 5u);
  EXPECT_EQ(rows_.rows[4][0].text, "5");
}

// Fails at the rows of the stream.
struct FailingConsumer : RowConsumer {
  Status Header(const ColumnTypes&) override { return Status(); }
  Status Rows(const ColumnTypes&, const v1::ColumnBatch&) override {
    return ++batches < 2 ? Status() : Status(Error("58030", "disk full"));
  }
  int batches = 0;
};

TEST_F(ClientTest, ConsumersErrorEndsTheStream) {
  server_.on_execute = [](grpc::ServerContext*, const v1::ExecuteRequest&, v1::ExecuteResponse* response) {
    AddHeader(response->mutable_header());
    AddRows({1}, response->mutable_chunk());
    response->set_more("token");
    return grpc::Status();
  };
  server_.on_query = [](grpc::ServerContext* context, const v1::QueryRequest&, auto* writer) {
    v1::QueryResponse response;
    AddRows({2}, response.mutable_chunk());
    while (!context->IsCancelled() && writer->Write(response)) {
    }
    return grpc::Status();
  };
  FailingConsumer consumer;
  EXPECT_SQLSTATE(client_.Run("SELECT n", consumer), "58030");
  EXPECT_EQ(consumer.batches, 2);
}

TEST_F(ClientTest, RollbackOfWhatTheServerHasEndedSucceedsWithAWarning) {
  for (const std::string state : {"25P03", "08007"}) {
    EXPECT_OK(client_.Run("BEGIN", rows_));
    const auto before = server_.on_execute;
    server_.on_execute = [&](grpc::ServerContext*, const v1::ExecuteRequest&, v1::ExecuteResponse*) {
      return SqlStatus(state, "gone");
    };
    EXPECT_SQLSTATE(client_.Run("X", rows_), state);
    const auto outcome = client_.Run("ROLLBACK", rows_);
    server_.on_execute = before;
    ASSERT_OK(outcome);
    EXPECT_EQ(outcome->command, "ROLLBACK");
    ASSERT_EQ(outcome->warnings.size(), 1u);
    EXPECT_EQ(outcome->warnings[0].sqlstate(), "25P03");
    EXPECT_EQ(client_.phase(), Client::Phase::kNone);
  }
}

TEST_F(ClientTest, RollbackWithoutAServerSaysThatNothingIsCommitted) {
  EXPECT_OK(client_.Run("BEGIN", rows_));
  server_.on_execute = [&](grpc::ServerContext*, const v1::ExecuteRequest&, v1::ExecuteResponse*) {
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "Socket closed");
  };
  const auto outcome = client_.Run("rollback work", rows_);
  EXPECT_SQLSTATE(outcome, "08006");
  EXPECT_THAT(outcome.error().detail(), HasSubstr("Nothing of the transaction is committed"));
  EXPECT_EQ(client_.phase(), Client::Phase::kNone);
}

TEST_F(ClientTest, SigintCancelsTheCallNotTheProgram) {
  server_.on_execute = [](grpc::ServerContext* context, const v1::ExecuteRequest&, v1::ExecuteResponse*) {
    kill(getpid(), SIGINT);
    while (!context->IsCancelled()) std::this_thread::yield();
    return grpc::Status();
  };
  EXPECT_SQLSTATE(client_.Run("SELECT n", rows_), "57014");
  EXPECT_TRUE(interrupts_.TakePending());
}

// Shows the first rows for so long that the user loses patience.
struct SlowRows final : RowConsumer {
  explicit SlowRows(Interrupts& user) : interrupts(user) {}
  Status Header(const ColumnTypes&) override { return Status(); }
  Status Rows(const ColumnTypes&, const v1::ColumnBatch&) override {
    if (++batches == 1) kill(getpid(), SIGINT);
    while (!interrupts.pending()) std::this_thread::yield();
    return Status();
  }
  Interrupts& interrupts;
  int batches = 0;
};

TEST_F(ClientTest, SigintBetweenTheCallsOfAStatementCancelsIt) {
  server_.on_execute = [](grpc::ServerContext*, const v1::ExecuteRequest&, v1::ExecuteResponse* response) {
    AddHeader(response->mutable_header());
    AddRows({1}, response->mutable_chunk());
    response->set_more("token");
    return grpc::Status();
  };
  server_.on_query = [](grpc::ServerContext* context, const v1::QueryRequest&,
                        grpc::ServerWriter<v1::QueryResponse>* writer) {
    v1::QueryResponse response;
    AddRows({2}, response.mutable_chunk());
    for (int i = 0; i < 100'000 && !context->IsCancelled(); ++i) writer->Write(response);
    return grpc::Status();
  };
  SlowRows slow(interrupts_);
  EXPECT_SQLSTATE(client_.Run("SELECT n", slow), "57014");
  EXPECT_EQ(slow.batches, 1) << "what arrives after it is not shown";
}

TEST_F(ClientTest, ConnectTellsTheVersion) {
  const auto info = client_.Connect(std::chrono::seconds(60));
  ASSERT_OK(info);
  EXPECT_EQ(info->version(), "fake");
}

TEST_F(ClientTest, InvalidUtf8IsNotSent) {
  EXPECT_SQLSTATE(client_.Run("select '\xff'", rows_), "22021");
  EXPECT_THAT(server_.executed, IsEmpty());
}

TEST_F(ClientTest, NobodyThereIsAConnectionLoss) {
  Client nobody("127.0.0.1:1", interrupts_);
  EXPECT_SQLSTATE(nobody.Connect(std::chrono::seconds(60)), "08006");
}

class ShellTest : public ClientTest {
 protected:
  ShellTest() : file_(std::tmpfile()), output_(file_), shell_(client_, output_, Shell::Settings()) {
    char name[] = "/tmp/sisal_cli_test.XXXXXX";
    directory_ = mkdtemp(name);
  }
  ~ShellTest() override {
    std::fclose(file_);
    std::remove((directory_ + "/data.csv").c_str());
    rmdir(directory_.c_str());
  }

  Verdict Run(const std::string& text) {
    TextSource source(text);
    return shell_.Run(source);
  }
  std::string Printed() {
    EXPECT_OK(output_.Flush());
    std::rewind(file_);
    std::string text(10000, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), file_));
    return text;
  }
  std::string WriteFile(const std::string& text) {
    std::ofstream(directory_ + "/data.csv") << text;
    return directory_ + "/data.csv";
  }
  // A table of two columns, which takes any row.
  void ServeTable() {
    server_.on_execute = [](grpc::ServerContext*, const v1::ExecuteRequest& request, v1::ExecuteResponse* response) {
      if (request.statement().sql().starts_with("SELECT")) {
        for (const char* name : {"a", "b"}) response->mutable_header()->add_columns()->set_name(name);
        v1::ColumnBatch* batch = response->mutable_chunk()->mutable_batch();
        for (int i = 0; i < 2; ++i) batch->add_columns();
      } else {
        response->mutable_trailer()->set_rows_affected(request.statement().param_rows().row_count());
        response->mutable_trailer()->set_command("INSERT");
      }
      return grpc::Status();
    };
  }

  FILE* const file_;
  Output output_;
  Shell shell_;
  std::string directory_;
};

// Somebody types `lines`.
class TypedLines final : public LineSource {
 public:
  explicit TypedLines(std::vector<std::string> lines) : lines_(std::move(lines)) {}
  Event Next(const std::string&, std::string* line) override {
    if (next_ == lines_.size()) return Event::kEnd;
    *line = lines_[next_++] + "\n";
    return Event::kLine;
  }
  bool interactive() const override { return true; }

 private:
  const std::vector<std::string> lines_;
  size_t next_ = 0;
};

TEST_F(ShellTest, HelpAloneOnALineGuides) {
  TypedLines typed({"help", "HELP ; ", "help me", "too;"});
  EXPECT_EQ(shell_.Run(typed), Verdict::kGoOn);
  ASSERT_EQ(server_.executed.size(), 1u);
  EXPECT_EQ(server_.executed[0].statement().sql(), "help me\ntoo");
  EXPECT_THAT(Printed(), HasSubstr("\\q to quit"));
}

TEST_F(ShellTest, QuitAndExitLeave) {
  for (const char* word : {"quit", "exit", "Exit;", "quit  "}) {
    TypedLines typed({word, "X;"});
    EXPECT_EQ(shell_.Run(typed), Verdict::kQuit) << word;
  }
  EXPECT_THAT(server_.executed, IsEmpty());
}

TEST_F(ShellTest, InsideAStatementTheWordsAreSqlAndAHintIsGiven) {
  TypedLines typed({"SELECT", "quit", "help", "'", "exit", "\\q", "';"});
  EXPECT_EQ(shell_.Run(typed), Verdict::kGoOn);
  ASSERT_EQ(server_.executed.size(), 1u);
  EXPECT_EQ(server_.executed[0].statement().sql(), "SELECT\nquit\nhelp\n'\nexit\n\\q\n'");
  EXPECT_THAT(Printed(), StartsWith("Use \\q to quit.\n"
                                    "Use \\? for help or press control-C to clear the input buffer.\n"
                                    "Use control-D to quit.\nUse control-D to quit.\n"));
}

TEST_F(ShellTest, InAScriptTheWordsAreSql) {
  EXPECT_EQ(Run("quit\n"), Verdict::kGoOn);
  EXPECT_EQ(server_.executed.size(), 1u);
}

TEST_F(ShellTest, WithAnEmptyBufferTheLastStatementCounts) {
  EXPECT_EQ(Run("X y;\n\\g\n\\p\n"), Verdict::kGoOn);
  ASSERT_EQ(server_.executed.size(), 2u);
  EXPECT_EQ(server_.executed[1].statement().sql(), "X y");
  EXPECT_THAT(Printed(), EndsWith("X y\n"));
}

TEST_F(ShellTest, TheEditorsTextCountsAsTyped) {
  const std::string script = WriteFile("sed -i 's/X/Y/' \"$1\"; echo 'Z;' >> \"$1\"; echo 'half' >> \"$1\"\n");
  setenv("PSQL_EDITOR", ("sh " + script).c_str(), 1);
  EXPECT_EQ(Run("X\n\\e\nend;"), Verdict::kGoOn);
  ASSERT_EQ(server_.executed.size(), 2u);
  EXPECT_EQ(server_.executed[0].statement().sql(), "Y\nZ");
  EXPECT_EQ(server_.executed[1].statement().sql(), "half\nend");
  setenv("PSQL_EDITOR", "false", 1);
  EXPECT_EQ(Run("X\n\\e\n"), Verdict::kFailed);
  unsetenv("PSQL_EDITOR");
}

TEST_F(ShellTest, TildeIsTheHomeOfFiles) {
  const char* home = getenv("HOME");
  const std::string before = home == nullptr ? "" : home;
  setenv("HOME", directory_.c_str(), 1);
  WriteFile("X;");
  EXPECT_EQ(Run("\\i ~/data.csv"), Verdict::kGoOn);
  EXPECT_EQ(server_.executed.size(), 1u);
  EXPECT_EQ(ExpandTilde("~other/a"), "~other/a");
  EXPECT_EQ(ExpandTilde("a~/b"), "a~/b");
  setenv("HOME", before.c_str(), 1);
}

TEST_F(ShellTest, ScriptStopsAtTheFirstError) {
  EXPECT_EQ(Run("X; bad; Y"), Verdict::kFailed);
  EXPECT_EQ(server_.executed.size(), 2u);
  EXPECT_EQ(Printed(), "X\n");
}

TEST_F(ShellTest, LastStatementNeedsNoSemicolon) {
  EXPECT_EQ(Run("X; Y"), Verdict::kGoOn);
  EXPECT_EQ(Printed(), "X\nY\n");
}

TEST_F(ShellTest, CsvCarriesRowsAndNothingElse) {
  server_.on_execute = [](grpc::ServerContext*, const v1::ExecuteRequest& request, v1::ExecuteResponse* response) {
    if (request.statement().sql() == "S") {
      AddHeader(response->mutable_header());
      AddRows({7}, response->mutable_chunk());
    }
    response->mutable_trailer()->set_command(request.statement().sql() == "S" ? "" : "INSERT");
    return grpc::Status();
  };
  shell_.settings().display.format = Format::kCsv;
  EXPECT_EQ(Run("I; S; I"), Verdict::kGoOn);
  EXPECT_EQ(Printed(), "n\n7\n");
}

TEST_F(ShellTest, UnknownMetaCommandFails) { EXPECT_EQ(Run("\\nope\nX"), Verdict::kFailed); }

TEST_F(ShellTest, ImportSendsRowsAsParametersInOneTransaction) {
  ServeTable();
  const std::string path = WriteFile("a,b\n1,\"x,y\"\n,\"\"\n");
  EXPECT_EQ(RunCopy(shell_, "t from '" + path + "' csv header"), Verdict::kGoOn);
  EXPECT_EQ(Printed(), "COPY 2\n");
  EXPECT_THAT(server_.calls, ElementsAre("begin", "commit"));
  const v1::ExecuteRequest& insert = server_.executed.back();
  EXPECT_EQ(insert.statement().sql(), "INSERT INTO t (\"a\", \"b\") OVERRIDING SYSTEM VALUE VALUES ($1, $2)");
  EXPECT_EQ(insert.transaction().handle(), "h1");
  const v1::ColumnBatch& rows = insert.statement().param_rows();
  ASSERT_EQ(rows.columns_size(), 2);
  EXPECT_THAT(rows.columns(0).texts(), ElementsAre("1", ""));
  EXPECT_EQ(rows.columns(0).null_bitmap(), std::string("\x02", 1));
  EXPECT_THAT(rows.columns(1).texts(), ElementsAre("x,y", ""));
  EXPECT_EQ(rows.columns(1).null_bitmap(), std::string("\x00", 1));
}

TEST_F(ShellTest, LargeImportTakesManyCalls) {
  ServeTable();
  std::string text;
  for (int i = 0; i < 12000; ++i) text += std::to_string(i) + ",x\n";
  EXPECT_EQ(RunCopy(shell_, "t from '" + WriteFile(text) + "'"), Verdict::kGoOn);
  EXPECT_EQ(Printed(), "COPY 12000\n");
  EXPECT_EQ(server_.executed.size(), 4u);
}

TEST_F(ShellTest, FailedImportIsRolledBack) {
  ServeTable();
  EXPECT_EQ(RunCopy(shell_, "t from '" + WriteFile("1,2\n3\n") + "'"), Verdict::kFailed);
  EXPECT_THAT(server_.calls, ElementsAre("begin", "rollback"));
  EXPECT_EQ(Printed(), "");
}

TEST_F(ShellTest, ImportChecksTheHeaderWhereAsked) {
  ServeTable();
  const std::string path = WriteFile("a,c\n1,2\n");
  EXPECT_EQ(RunCopy(shell_, "t from '" + path + "' header match"), Verdict::kFailed);
  EXPECT_EQ(RunCopy(shell_, "t from '" + path + "' header"), Verdict::kGoOn);
}

TEST_F(ShellTest, ImportJoinsTheOpenTransaction) {
  EXPECT_EQ(Run("BEGIN"), Verdict::kGoOn);
  server_.calls.clear();
  ServeTable();
  EXPECT_EQ(RunCopy(shell_, "t from '" + WriteFile("1,2\n") + "'"), Verdict::kGoOn);
  EXPECT_THAT(server_.calls, IsEmpty());
  EXPECT_EQ(server_.executed.back().transaction().handle(), "h1");
}

TEST_F(ShellTest, ExportWritesTheFileWhenAllIsThere) {
  server_.on_execute = [](grpc::ServerContext*, const v1::ExecuteRequest&, v1::ExecuteResponse* response) {
    AddHeader(response->mutable_header());
    AddRows({7, 8}, response->mutable_chunk());
    return grpc::Status();
  };
  const std::string path = WriteFile("old");
  EXPECT_EQ(RunCopy(shell_, "(select n) to '" + path + "' header"), Verdict::kGoOn);
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str(), "n\n7\n8\n");
  EXPECT_EQ(server_.executed.back().statement().sql(), "select n");
}

TEST_F(ShellTest, FailedExportLeavesTheOldFile) {
  const std::string path = WriteFile("old");
  EXPECT_EQ(RunCopy(shell_, "(bad) to '" + path + "'"), Verdict::kFailed);
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str(), "old");
  EXPECT_NE(access((path + ".partial").c_str(), F_OK), 0);
}
}  // namespace
}  // namespace sisal::cli
