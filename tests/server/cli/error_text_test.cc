#include "error_text.h"

#include <gtest/gtest.h>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "sisal/v1/sql_error.pb.h"
#include "text_width.h"

namespace sisal::cli {
namespace {
class PositionTest : public ::testing::Test {
 protected:
  void SetUp() override { UseUtf8Locale(); }
};

TEST_F(PositionTest, CaretStandsUnderTheCharacter) {
  EXPECT_EQ(RenderPosition("select x", 8), "LINE 1: select x\n               ^\n");
}

TEST_F(PositionTest, LinesAreCounted) {
  EXPECT_EQ(RenderPosition("select 1,\r\n  foo\nfrom t", 14), "LINE 2:   foo\n          ^\n");
}

TEST_F(PositionTest, PositionsAreCharactersAndCaretsAreColumns) {
  EXPECT_EQ(RenderPosition("select '日本', x", 14), "LINE 1: select '日本', x\n                       ^\n");
}

TEST_F(PositionTest, TabsAreBlanks) { EXPECT_EQ(RenderPosition("\tx", 2), "LINE 1:  x\n         ^\n"); }

TEST_F(PositionTest, EndOfTextIsAPosition) {
  EXPECT_EQ(RenderPosition("select", 7), "LINE 1: select\n              ^\n");
  EXPECT_EQ(RenderPosition("select", 8), "");
}

TEST_F(PositionTest, LongLinesAreCutAroundTheCaret) {
  const std::string sql = "select " + std::string(200, 'a') + ", xyz, " + std::string(200, 'b');
  const std::string shown = RenderPosition(sql, 210);
  const size_t newline = shown.find('\n');
  const std::string line = shown.substr(0, newline);
  EXPECT_TRUE(line.starts_with("LINE 1: ...aaa")) << line;
  EXPECT_TRUE(line.ends_with("b...")) << line;
  EXPECT_LE(line.size(), 8u + 3 + 60 + 3);
  const size_t caret = shown.find('^') - newline - 1;
  EXPECT_EQ(line.substr(caret, 3), "xyz");
}

TEST_F(PositionTest, HugeLinesAreCutFast) {
  const std::string sql(size_t{8} << 20, 'a');
  EXPECT_TRUE(RenderPosition(sql, 4 << 20).starts_with("LINE 1: ...aaa"));
}

TEST(RenderErrorTest, AllParts) {
  UseUtf8Locale();
  EXPECT_EQ(RenderError(Error("42P01", "relation \"t\" does not exist").WithPosition(15).WithDetail("d").WithHint("h"),
                        "select * from t"),
            "ERROR:  42P01: relation \"t\" does not exist\n"
            "LINE 1: select * from t\n"
            "                      ^\n"
            "DETAIL:  d\n"
            "HINT:  h\n");
}

TEST(RenderErrorTest, Warnings) {
  EXPECT_EQ(RenderWarning("25001", "there is already a transaction in progress", ""),
            "WARNING:  25001: there is already a transaction in progress\n");
  EXPECT_EQ(RenderWarning("00000", "table \"t\" does not exist, skipping", ""),
            "NOTICE:  table \"t\" does not exist, skipping\n");
}

TEST(FromStatusTest, ReadsSqlErrorFromTheDetails) {
  v1::SqlError sql;
  sql.set_sqlstate("23505");
  sql.set_position(3);
  sql.set_detail("Key (id)=(1) already exists.");
  sql.set_constraint("t_pkey");
  sql.set_transaction_usable(true);
  google::rpc::Status rich;
  rich.set_message("duplicate key");
  rich.add_details()->PackFrom(google::rpc::ErrorInfo());
  rich.add_details()->PackFrom(sql);
  const RemoteError remote =
      FromStatus(grpc::Status(grpc::StatusCode::ALREADY_EXISTS, "duplicate key", rich.SerializeAsString()));
  EXPECT_EQ(remote.error.sqlstate(), "23505");
  EXPECT_EQ(remote.error.message(), "duplicate key");
  EXPECT_EQ(remote.error.detail(), "Key (id)=(1) already exists.");
  EXPECT_EQ(remote.error.constraint(), "t_pkey");
  EXPECT_EQ(remote.error.position(), 3u);
  EXPECT_TRUE(remote.transaction_usable);
}

TEST(FromStatusTest, BareStatusesGetAnSqlstate) {
  const auto sqlstate = [](grpc::StatusCode code) {
    return std::string(FromStatus(grpc::Status(code, "m", "no protobuf")).error.sqlstate());
  };
  EXPECT_EQ(sqlstate(grpc::StatusCode::UNAVAILABLE), "08006");
  EXPECT_EQ(sqlstate(grpc::StatusCode::CANCELLED), "57014");
  EXPECT_EQ(sqlstate(grpc::StatusCode::RESOURCE_EXHAUSTED), "54000");
  EXPECT_EQ(sqlstate(grpc::StatusCode::UNIMPLEMENTED), "0A000");
  EXPECT_EQ(sqlstate(grpc::StatusCode::INTERNAL), "08P01");
}
}  // namespace
}  // namespace sisal::cli
