// Results over gRPC: encodings, streams, what is too large, cancelling.
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <thread>

#include "server_process.h"
#include "sisal/base/bytes.h"

namespace sisal::e2e {
namespace {

using ::testing::HasSubstr;

class ResultsTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(server.Start({"--reader-stall-ms", "2000"})); }
  // All messages of a Query.
  struct Stream {
    grpc::Status status;
    std::vector<v1::QueryResponse> messages;
    uint64_t rows = 0;
  };
  Stream Query(const v1::QueryRequest& request) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    Stream out;
    const auto reader = server.sql().Query(&context, request);
    v1::QueryResponse message;
    while (reader->Read(&message)) {
      out.rows += message.chunk().batch().row_count();
      out.messages.push_back(message);
    }
    out.status = reader->Finish();
    return out;
  }
  Stream Query(const std::string& sql) {
    v1::QueryRequest request;
    request.mutable_statement()->set_sql(sql);
    return Query(request);
  }
  // Of one metric, with its labels.
  double Stat(const std::string& name) {
    grpc::ClientContext context;
    v1::GetStatsRequest request;
    request.add_names(name.substr(0, name.find('{')));
    v1::GetStatsResponse response;
    EXPECT_TRUE(server.admin().GetStats(&context, request, &response).ok());
    const auto found = response.values().find(name);
    return found == response.values().end() ? -1 : found->second;
  }
  ServerProcess server;
};

TEST_F(ResultsTest, EveryTypeTravels) {
  const auto answer =
      Execute(server,
              "SELECT true, 1::smallint, 2, 3::bigint, 0.5::real, 0.25::double precision, 1.50::numeric(10,2), 'text', "
              "'v'::varchar(5), '\\xff00'::bytea, '2026-11-30'::date, '2026-11-30 16:05:00'::timestamp, "
              "'2026-11-30 16:05:00+00'::timestamptz, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid, NULL::int");
  ASSERT_STATE(answer, "00000");
  const v1::ColumnBatch& batch = answer->chunk().batch();
  ASSERT_EQ(batch.columns_size(), 15);
  EXPECT_TRUE(batch.columns(0).booleans(0));
  EXPECT_EQ(batch.columns(3).integers(0), 3);
  EXPECT_EQ(batch.columns(4).numbers(0), 0.5);
  EXPECT_EQ(batch.columns(6).texts(0), "1.50");
  EXPECT_EQ(batch.columns(9).blobs(0), std::string("\xff\0", 2));
  EXPECT_EQ(batch.columns(10).integers(0), 20787);
  EXPECT_EQ(batch.columns(13).blobs(0).size(), 16u);
  EXPECT_EQ(batch.columns(14).null_bitmap(), "\x01");
  EXPECT_EQ(answer->header().columns(6).precision(), 10u);
  EXPECT_EQ(answer->header().columns(6).scale(), 2);
  EXPECT_EQ(answer->header().columns(8).length(), 5u);
  EXPECT_EQ(answer->header().columns(12).type(), v1::TYPE_CODE_TIMESTAMPTZ);
}

TEST_F(ResultsTest, EncodingsAgree) {
  v1::ExecuteRequest request = Request("SELECT i, 'row ' || i FROM generate_series(1, 3) AS g(i)");
  request.mutable_options()->set_encoding(v1::ENCODING_VALUES);
  const auto values = Execute(server, request);
  ASSERT_STATE(values, "00000");
  EXPECT_EQ(values->chunk().values().rows(2).values(0).integer(), 3);
  EXPECT_EQ(values->chunk().values().rows(2).values(1).text(), "row 3");
  request.mutable_options()->set_encoding(v1::ENCODING_PACKED);
  EXPECT_EQ(Execute(server, request)->chunk().batch().columns(1).packed(), "row 1row 2row 3");
  request.mutable_options()->set_encoding(v1::ENCODING_ARROW_IPC);
  EXPECT_STATE(Execute(server, request), "0A000");
}

// A point read is answered where it arrived, without a fiber. An explicit single use sends it the longer way: the bytes
// are the same.
TEST_F(ResultsTest, PointReadsAnswerAsOtherReadsDo) {
  ASSERT_STATE(Execute(server, "CREATE TABLE p (id int PRIMARY KEY, t text, n numeric(6,2), z timestamptz, b bytea)"),
               "00000");
  ASSERT_STATE(Execute(server,
                       "INSERT INTO p VALUES (1, 'a', 1.5, '2026-11-30 12:00+00', '\\x00ff'), "
                       "(2, NULL, NULL, NULL, NULL), (3, '', 0, NULL, '')"),
               "00000");
  const auto at_once = [&] { return Stat("sisal_rpc_at_once_total{method=\"sisal.v1.SqlService/Execute\"}"); };
  const std::string sql = "SELECT z, b, t, n, id FROM p WHERE id = $1";
  ASSERT_STATE(Execute(server, Request("SELECT 1")), "00000");
  v1::ExecuteRequest request = Request(sql);
  request.mutable_statement()->add_params()->set_integer(1);
  const auto first = Execute(server, request);  // makes the plan
  ASSERT_STATE(first, "00000");
  double answered = at_once();
  for (const v1::Encoding encoding :
       {v1::ENCODING_UNSPECIFIED, v1::ENCODING_COLUMNS, v1::ENCODING_VALUES, v1::ENCODING_PACKED}) {
    for (const int64_t id : {1, 2, 3, 4}) {
      for (const bool by_id : {false, true}) {
        v1::ExecuteRequest read;
        if (by_id) {
          read.mutable_statement()->set_statement_id(first->header().statement_id());
          read.mutable_statement()->set_known_shape(first->header().shape());
        } else {
          read.mutable_statement()->set_sql(sql);
        }
        read.mutable_statement()->add_params()->set_integer(id);
        if (encoding != v1::ENCODING_UNSPECIFIED) read.mutable_options()->set_encoding(encoding);
        const auto here = Execute(server, read);
        read.mutable_transaction()->mutable_single_use();
        const auto there = Execute(server, read);
        ASSERT_STATE(here, "00000");
        EXPECT_EQ(here->SerializeAsString(), there->SerializeAsString());
        EXPECT_EQ(at_once(), ++answered);
      }
    }
  }
  // What asks for more, or is wrong, goes the longer way and gets its answer or its error there.
  request.mutable_options()->set_stats_mode(v1::STATS_MODE_BASIC);
  EXPECT_TRUE(Execute(server, request)->trailer().has_stats());
  request.clear_options();
  request.mutable_statement()->add_params()->set_integer(1);
  EXPECT_STATE(Execute(server, request), "08P01");
  request.mutable_statement()->clear_params();
  request.mutable_statement()->add_params()->set_text("no number");
  EXPECT_STATE(Execute(server, request), "22P02");
  request.mutable_options()->mutable_settings()->insert({"no_such_setting", "1"});
  EXPECT_STATE(Execute(server, request), "42704");
  EXPECT_EQ(at_once(), answered);
  ASSERT_STATE(Execute(server, "DROP TABLE p"), "00000");
  EXPECT_STATE(Execute(server, sql), "42P01");
}

TEST_F(ResultsTest, ParametersThatNameThePresent) {
  ASSERT_STATE(Execute(server, "CREATE TABLE days (d date PRIMARY KEY)"), "00000");
  ASSERT_STATE(Execute(server, "INSERT INTO days VALUES (current_date), (current_date + 1)"), "00000");
  for (const char* sql :
       {"SELECT $1::date = current_date", "SELECT count(*) = 1 FROM days WHERE d = $1 AND d <> '1970-01-01'",
        "SELECT $1::timestamptz BETWEEN '2026-01-01' AND now()"}) {
    v1::ExecuteRequest request = Request(sql);
    request.mutable_statement()->add_params()->set_text("today");
    const auto answer = Execute(server, request);
    ASSERT_STATE(answer, "00000");
    EXPECT_TRUE(answer->chunk().batch().columns(0).booleans(0)) << sql;
  }
  // At once, and of a transaction: its start.
  v1::ExecuteRequest read = Request("SELECT d FROM days WHERE d = $1");
  read.mutable_statement()->add_params()->set_text("today");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Execute(server, read)->chunk().batch().row_count(), 1u);
  const std::string handle = Begin(server)->transaction().handle();
  v1::ExecuteRequest start = Request("SELECT $1::timestamptz = now()");
  start.mutable_statement()->add_params()->set_text("now");
  start.mutable_transaction()->set_handle(handle);
  EXPECT_TRUE(Execute(server, start)->chunk().batch().columns(0).booleans(0));
}

// A statement that is prepared for the new table may meet a snapshot of the old one, as long as the change is being
// made durable.
TEST_F(ResultsTest, ReadsGoOnWhileATableChangesItsTypes) {
  ASSERT_STATE(Execute(server, "CREATE TABLE changing (id int PRIMARY KEY, v int)"), "00000");
  ASSERT_STATE(Execute(server, "INSERT INTO changing VALUES (1, 7)"), "00000");
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    while (!stop) {
      const auto answer = Execute(server, "SELECT v FROM changing WHERE id = 1");
      ASSERT_STATE(answer, "00000");
      EXPECT_EQ(answer->chunk().batch().row_count(), 1u);
      const Stream stream = Query("SELECT v FROM changing");
      ASSERT_TRUE(stream.status.ok()) << stream.status.error_message();
      EXPECT_EQ(stream.rows, 1u);
    }
  });
  for (int i = 0; i < 100; ++i) {
    const std::string handle = Begin(server)->transaction().handle();
    EXPECT_STATE(ExecuteIn(server, handle, "DROP TABLE changing"), "00000");
    EXPECT_STATE(ExecuteIn(server, handle,
                           i % 2 == 0 ? "CREATE TABLE changing (id bigint PRIMARY KEY, v text)"
                                      : "CREATE TABLE changing (id int PRIMARY KEY, v int)"),
                 "00000");
    EXPECT_STATE(ExecuteIn(server, handle, "INSERT INTO changing VALUES (1, '7')"), "00000");
    EXPECT_STATE(Commit(server, handle), "00000");
  }
  stop = true;
  reader.join();
}

TEST_F(ResultsTest, HeaderIsThereForNoRowsAndAbsentForNoResult) {
  const auto empty = Execute(server, "SELECT 1 WHERE false");
  ASSERT_STATE(empty, "00000");
  EXPECT_TRUE(empty->has_header());
  EXPECT_TRUE(empty->has_chunk());
  const auto ddl = Execute(server, "CREATE TABLE x (id int)");
  EXPECT_FALSE(ddl->has_header());
  EXPECT_FALSE(ddl->has_chunk());
  EXPECT_EQ(ddl->trailer().command(), "CREATE TABLE");
}

TEST_F(ResultsTest, KnownShapeLeavesColumnsOut) {
  v1::ExecuteRequest request = Request("SELECT 1 AS one");
  const auto first = Execute(server, request);
  request.mutable_statement()->set_known_shape(first->header().shape());
  const auto second = Execute(server, request);
  EXPECT_EQ(second->header().columns_size(), 0);
  EXPECT_EQ(FirstInteger(second.response), 1);
}

TEST_F(ResultsTest, PreparedByIdAndUnknownIds) {
  const std::string sql = "SELECT $1::int + 1";
  v1::PrepareRequest prepare;
  prepare.set_sql(sql);
  v1::PrepareResponse prepared;
  grpc::ClientContext context;
  ASSERT_TRUE(server.sql().Prepare(&context, prepare, &prepared).ok());
  const auto hash = Sha256(sql);
  EXPECT_EQ(prepared.statement_id(), std::string(reinterpret_cast<const char*>(hash.data()), 16));
  ASSERT_EQ(prepared.params_size(), 1);
  EXPECT_EQ(prepared.params(0).type(), v1::TYPE_CODE_INTEGER);
  EXPECT_EQ(prepared.params(0).sql_type(), "integer");
  EXPECT_EQ(prepared.params(0).oid(), 23u);
  EXPECT_TRUE(prepared.read_only());

  v1::ExecuteRequest request;
  request.mutable_statement()->set_statement_id(prepared.statement_id());
  request.mutable_statement()->add_params()->set_integer(41);
  const auto answer = Execute(server, request);
  EXPECT_EQ(FirstInteger(answer.response), 42);
  EXPECT_EQ(answer->header().statement_id(), "");

  request.mutable_statement()->set_statement_id(std::string(16, 'x'));
  const auto unknown = Execute(server, request);
  EXPECT_STATE(unknown, "26000");
  EXPECT_EQ(unknown.status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(ErrorInfoOf(unknown.status).reason(), "STATEMENT_UNKNOWN");
}

TEST_F(ResultsTest, SamePreparedTextWithOtherParametersConcurrently) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        v1::ExecuteRequest request = Request("SELECT $1::int");
        request.mutable_statement()->add_params()->set_integer(1000 * t + i);
        if (FirstInteger(Execute(server, request).response) != 1000 * t + i) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(ResultsTest, QueryStreamsBoundedChunks) {
  const Stream stream = Query("SELECT i, 'some text of a row' FROM generate_series(1, 100000) AS g(i)");
  ASSERT_STATE(stream.status, "00000");
  EXPECT_EQ(stream.rows, 100'000u);
  ASSERT_GT(stream.messages.size(), 5u);
  EXPECT_LE(stream.messages.front().ByteSizeLong(), 32u << 10);
  for (const auto& message : stream.messages) EXPECT_LE(message.ByteSizeLong(), 300u << 10);
  EXPECT_TRUE(stream.messages.front().has_header());
  EXPECT_FALSE(stream.messages[1].has_header());
  EXPECT_TRUE(stream.messages.back().has_trailer());
}

TEST_F(ResultsTest, ChunkBytesAreHonoured) {
  v1::QueryRequest request;
  request.mutable_statement()->set_sql("SELECT i FROM generate_series(1, 20000) AS g(i)");
  request.mutable_options()->set_chunk_bytes(4096);
  const Stream stream = Query(request);
  EXPECT_EQ(stream.rows, 20'000u);
  for (const auto& message : stream.messages) EXPECT_LE(message.ByteSizeLong(), 5000u);
}

TEST_F(ResultsTest, QueryRefusesWrites) {
  ASSERT_STATE(Execute(server, "CREATE TABLE x (id int)"), "00000");
  EXPECT_STATE(Query("INSERT INTO x VALUES (1)").status, "25006");
  EXPECT_STATE(Query("BEGIN").status, "0A000");
}

TEST_F(ResultsTest, LargeExecuteGoesOnWithQuery) {
  const v1::ExecuteRequest request = Request("SELECT i, 'some text of a row' FROM generate_series(1, 100000) AS g(i)");
  const auto part = Execute(server, request);
  ASSERT_STATE(part, "00000");
  ASSERT_FALSE(part->more().empty());
  EXPECT_LE(part->ByteSizeLong(), (1u << 20) + 4096);
  const uint64_t first_rows = part->chunk().batch().row_count();
  v1::QueryRequest rest;
  *rest.mutable_statement() = request.statement();
  rest.set_resume_token(part->more());
  const Stream stream = Query(rest);
  ASSERT_STATE(stream.status, "00000");
  EXPECT_EQ(first_rows + stream.rows, 100'000u);
  EXPECT_EQ(stream.messages.front().chunk().batch().columns(0).integers(0), static_cast<int64_t>(first_rows) + 1);
  EXPECT_STATE(Query(rest).status, "55000");  // it can be taken up once
  rest.mutable_statement()->set_sql("SELECT 1");
  rest.set_resume_token("nonsense");
  EXPECT_STATE(Query(rest).status, "22023");
}

TEST_F(ResultsTest, LargeReadInATransactionGoesOnUntilItsNextCall) {
  const std::string handle = Begin(server)->transaction().handle();
  v1::ExecuteRequest request = Request("SELECT i, 'some text of a row' FROM generate_series(1, 100000) AS g(i)");
  request.mutable_transaction()->set_handle(handle);
  auto part = Execute(server, request);
  ASSERT_FALSE(part->more().empty());
  v1::QueryRequest rest;
  *rest.mutable_statement() = request.statement();
  *rest.mutable_transaction() = request.transaction();
  rest.set_resume_token(part->more());
  EXPECT_EQ(Query(rest).rows + part->chunk().batch().row_count(), 100'000u);
  part = Execute(server, request);
  rest.set_resume_token(part->more());
  EXPECT_STATE(ExecuteIn(server, handle, "SELECT 1"), "00000");
  EXPECT_STATE(Query(rest).status, "55000");
  EXPECT_STATE(Commit(server, handle), "00000");
}

TEST_F(ResultsTest, WriteWithTooManyRowsFailsBeforeItCommits) {
  ASSERT_STATE(Execute(server, "CREATE TABLE x (id int, t text)"), "00000");
  const std::string insert =
      "INSERT INTO x SELECT i, 'some text of a row' FROM generate_series(1, 100000) AS g(i) "
      "RETURNING id, t";
  const auto refused = Execute(server, insert);
  EXPECT_STATE(refused, "54000");
  EXPECT_EQ(refused.status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(FirstInteger(Execute(server, "SELECT count(*) FROM x").response), 0);
  v1::BeginTransactionRequest begin;
  begin.mutable_transaction()->set_on_error(v1::ON_ERROR_ROLLBACK_STATEMENT);
  const std::string handle = Begin(server, begin)->transaction().handle();
  EXPECT_STATE(ExecuteIn(server, handle, "INSERT INTO x VALUES (1, 'kept')"), "00000");
  EXPECT_STATE(ExecuteIn(server, handle, insert), "54000");
  EXPECT_STATE(Commit(server, handle), "00000");
  EXPECT_EQ(FirstInteger(Execute(server, "SELECT count(*) FROM x").response), 1);
}

TEST_F(ResultsTest, StatsAreGivenWhenAskedFor) {
  v1::ExecuteRequest request = Request("SELECT 1");
  EXPECT_FALSE(Execute(server, request)->trailer().has_stats());
  request.mutable_options()->set_stats_mode(v1::STATS_MODE_BASIC);
  EXPECT_TRUE(Execute(server, request)->trailer().has_stats());
  request.mutable_options()->set_stats_mode(v1::STATS_MODE_PROFILE);
  EXPECT_STATE(Execute(server, request), "0A000");
}

// The snapshot of a Query goes within 100 ms of its cancel. The wait below is patient, and the time is measured.
TEST_F(ResultsTest, CancelFreesTheSnapshot) {
  ASSERT_STATE(Execute(server, "CREATE TABLE x (id int)"), "00000");
  ASSERT_STATE(Execute(server, "INSERT INTO x SELECT i FROM generate_series(1, 300000) AS g(i)"), "00000");
  grpc::ClientContext context;
  v1::QueryRequest request;
  request.mutable_statement()->set_sql("SELECT a.id FROM x a, x b WHERE a.id + b.id < 0");
  const auto reader = server.sql().Query(&context, request);
  while (Stat("sisal_txn_active") < 1) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const auto start = std::chrono::steady_clock::now();
  context.TryCancel();
  while (Stat("sisal_txn_active") > 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  const auto took = std::chrono::steady_clock::now() - start;
  RecordProperty("cancel_ms", static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(took).count()));
  v1::QueryResponse message;
  while (reader->Read(&message)) {
  }
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(ResultsTest, DeadlineEndsAStatement) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(100));
  v1::ExecuteRequest request =
      Request("SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b");
  v1::ExecuteResponse response;
  EXPECT_EQ(server.sql().Execute(&context, request, &response).error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  while (Stat("sisal_txn_active") > 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

TEST_F(ResultsTest, StatementTimeoutIsASettingOfTheCall) {
  v1::ExecuteRequest request =
      Request("SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b");
  (*request.mutable_options()->mutable_settings())["statement_timeout"] = "50";
  const auto answer = Execute(server, request);
  EXPECT_STATE(answer, "57014");
  (*request.mutable_options()->mutable_settings())["no_such_setting"] = "50";
  EXPECT_STATE(Execute(server, request), "42704");
}

// A client that does not read holds one chunk, and is cancelled after the stall limit (two seconds here).
TEST_F(ResultsTest, StalledReaderIsCancelledAndCostsNoMemory) {
  grpc::ClientContext context;
  v1::QueryRequest request;
  request.mutable_statement()->set_sql("SELECT repeat('x', 1000) FROM generate_series(1, 2000000)");
  const auto reader = server.sql().Query(&context, request);
  v1::QueryResponse message;
  ASSERT_TRUE(reader->Read(&message));
  const uint64_t before = server.ResidentBytes();
  while (Stat("sisal_txn_active") > 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_LT(server.ResidentBytes(), before + (64u << 20));
  while (reader->Read(&message)) {
  }
  EXPECT_FALSE(reader->Finish().ok());
}

// Answers that wait for their readers are memory of the server's: above its limit calls are refused, and who does not
// read loses its answer.
TEST(UnreadAnswersTest, AreBoundedAndGivenUp) {
  ServerProcess server;
  ASSERT_TRUE(server.Start({"--reader-stall-ms", "3000", "--grpc-memory-bytes", std::to_string(32 << 20)}));
  ASSERT_STATE(Execute(server, "CREATE TABLE long (id int PRIMARY KEY, v text)"), "00000");
  ASSERT_STATE(Execute(server, "INSERT INTO long VALUES (1, repeat('x', 3500000))"), "00000");
  const std::string bytes = Request("SELECT v FROM long WHERE id = 1").SerializeAsString();
  const grpc::Slice slice(bytes);
  const grpc::ByteBuffer request(&slice, 1);
  struct Unread {
    std::unique_ptr<grpc::ClientContext> context = std::make_unique<grpc::ClientContext>();
    std::unique_ptr<grpc::ClientAsyncResponseReader<grpc::ByteBuffer>> reader;
    grpc::ByteBuffer response;
    grpc::Status status;
  };
  grpc::CompletionQueue queue;
  grpc::ChannelArguments arguments;  // a window that stays small
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 16 << 10);
  grpc::GenericStub stub(
      grpc::CreateCustomChannel(server.grpc_address(), grpc::InsecureChannelCredentials(), arguments));
  std::vector<Unread> calls(12);
  for (Unread& call : calls) {  // they are never finished, so nothing beyond the window is taken
    call.reader = stub.PrepareUnaryCall(call.context.get(), "/sisal.v1.SqlService/Execute", request, &queue);
    call.reader->StartCall();
    call.reader->ReadInitialMetadata(&call);  // what sends the request
  }
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  const auto wait_for = [&](const char* state) {
    while (SqlState(Execute(server, "SELECT 1")) != state && std::chrono::steady_clock::now() < give_up) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_STATE(Execute(server, "SELECT 1"), state);
  };
  const auto next = [&] {
    void* tag = nullptr;
    bool ok = false;
    EXPECT_TRUE(queue.Next(&tag, &ok));
    return static_cast<Unread*>(tag);
  };
  wait_for("53200");
  wait_for("00000");
  for (size_t i = 0; i < calls.size(); ++i) next();
  for (Unread& call : calls) call.reader->Finish(&call.response, &call.status, &call);
  int given_up = 0;  // the others were in time, and are whole
  for (size_t i = 0; i < calls.size(); ++i) {
    const Unread& done = *next();
    given_up += !done.status.ok();
    EXPECT_TRUE(!done.status.ok() || done.response.Length() > 3'500'000u);
  }
  EXPECT_GE(given_up, 3);
  queue.Shutdown();
}

}  // namespace
}  // namespace sisal::e2e
