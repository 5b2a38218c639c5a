#include "sisal/wire/errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "sisal/base/bytes.h"
#include "sisal/v1/sql_error.pb.h"

namespace sisal::wire {
namespace {

using ::testing::EndsWith;

// The detail of type Message in a status; an empty one if it has none.
template <typename Message>
Message Detail(const WireStatus& wire, bool* found = nullptr) {
  google::rpc::Status status;
  EXPECT_TRUE(status.ParseFromString(wire.details));
  Message message;
  if (found != nullptr) *found = false;
  for (const auto& detail : status.details()) {
    if (!detail.Is<Message>()) continue;
    detail.UnpackTo(&message);
    if (found != nullptr) *found = true;
  }
  return message;
}

TEST(ErrorsTest, CodesAreThoseOfTheTable) {
  const std::pair<const char*, Code> table[] = {
      {"40001", Code::kAborted},
      {"40P01", Code::kAborted},
      {"25P03", Code::kAborted},
      {"25P04", Code::kAborted},
      {"23505", Code::kAlreadyExists},
      {"23502", Code::kFailedPrecondition},
      {"22P02", Code::kInvalidArgument},
      {"22003", Code::kOutOfRange},
      {"42601", Code::kInvalidArgument},
      {"42P01", Code::kNotFound},
      {"42703", Code::kNotFound},
      {"42501", Code::kPermissionDenied},
      {"28000", Code::kUnauthenticated},
      {"25006", Code::kFailedPrecondition},
      {"25P02", Code::kFailedPrecondition},
      {"26000", Code::kFailedPrecondition},
      {"53100", Code::kResourceExhausted},
      {"54000", Code::kResourceExhausted},
      {"55P03", Code::kAborted},
      {"P0002", Code::kFailedPrecondition},
      {"57P01", Code::kUnavailable},
      {"57P03", Code::kUnavailable},
      {"57014", Code::kCancelled},
      {"08007", Code::kUnknown},
      {"0A000", Code::kUnimplemented},
      {"XX001", Code::kDataLoss},
      {"XX000", Code::kInternal},
      {"58030", Code::kInternal},
      {"08P01", Code::kInvalidArgument},
  };
  for (const auto& [sqlstate, code] : table) EXPECT_EQ(CodeOf(sqlstate, false), code) << sqlstate;
  EXPECT_EQ(CodeOf("57014", true), Code::kDeadlineExceeded);
}

TEST(ErrorsTest, CarriesReasonAndFields) {
  CallError call(Error{"23505", "duplicate key"}
                     .WithDetail("Key (id)=(1) already exists.")
                     .WithTable("public", "t")
                     .WithConstraint("t_pkey"));
  call.step = 3;
  call.transaction_usable = true;
  const WireStatus wire = ToWireStatus(call);
  EXPECT_EQ(wire.message, "duplicate key");
  const auto info = Detail<google::rpc::ErrorInfo>(wire);
  EXPECT_EQ(info.reason(), "UNIQUE_VIOLATION");
  EXPECT_EQ(info.domain(), "sisal.v1");
  const auto error = Detail<v1::SqlError>(wire);
  EXPECT_EQ(error.sqlstate(), "23505");
  EXPECT_EQ(error.detail(), "Key (id)=(1) already exists.");
  EXPECT_EQ(error.table(), "t");
  EXPECT_EQ(error.constraint(), "t_pkey");
  EXPECT_EQ(error.step(), 3u);
  EXPECT_TRUE(error.transaction_usable());
  EXPECT_FALSE(error.outcome_unknown());
}

TEST(ErrorsTest, RetryAdviceWhereTheTableSaysSo) {
  for (const char* sqlstate : {"40001", "40P01", "25P03", "53100", "57P01", "57P03"}) {
    bool found;
    Detail<google::rpc::RetryInfo>(ToWireStatus(Error{sqlstate, "x"}), &found);
    EXPECT_TRUE(found) << sqlstate;
  }
  for (const char* sqlstate : {"23505", "54000", "42601", "08007"}) {
    bool found;
    Detail<google::rpc::RetryInfo>(ToWireStatus(Error{sqlstate, "x"}), &found);
    EXPECT_FALSE(found) << sqlstate;
  }
}

TEST(ErrorsTest, QuotaNamesLimitAndValue) {
  const WireStatus wire = ToWireStatus(Error{"54000", "too large"}.WithLimit("row_bytes", 1234));
  const auto quota = Detail<google::rpc::QuotaFailure>(wire);
  ASSERT_EQ(quota.violations_size(), 1);
  EXPECT_EQ(quota.violations(0).subject(), "row_bytes");
  EXPECT_THAT(quota.violations(0).description(), EndsWith("1234"));
}

TEST(ErrorsTest, UnknownOutcomeIsMarked) {
  EXPECT_TRUE(Detail<v1::SqlError>(ToWireStatus(Error{"08007", "x"})).outcome_unknown());
}

TEST(ErrorsTest, AReasonOfTheErrorsOwnWins) {
  EXPECT_EQ(ReasonOf(Error{"22023", "x"}.WithReason("IDEMPOTENCY_KEY_REUSED")), "IDEMPOTENCY_KEY_REUSED");
  EXPECT_EQ(ReasonOf(Error{"26000", "x"}), "STATEMENT_UNKNOWN");
  EXPECT_EQ(ReasonOf(Error{"2F004", "x"}), "SQLSTATE_2F004");
}

TEST(ErrorsTest, LongTextsAreCutToFitATrailer) {
  std::string text;
  while (text.size() < 200'000) text += "\xC3\xA4";
  const WireStatus wire = ToWireStatus(Error{"42601", text}
                                           .WithDetail(text)
                                           .WithHint(text)
                                           .WithTable(text, text)
                                           .WithColumn(text)
                                           .WithConstraint(text)
                                           .WithReason(text));
  EXPECT_LE(wire.message.size(), 1024u);
  EXPECT_LT(wire.details.size(), 4096u);
  EXPECT_EQ(FindInvalidUtf8(wire.message), std::string_view::npos);
  EXPECT_EQ(Detail<v1::SqlError>(wire).sqlstate(), "42601");
}

TEST(ErrorsTest, BytesThatAreNoTextDoNotReachAStringField) {
  const std::string bad = "a\xD0\x22\xFF";  // half a character, a quote, no character
  const CallError error = Error{"42601", bad}
                              .WithDetail(bad)
                              .WithHint(bad)
                              .WithTable(bad, bad)
                              .WithColumn(bad)
                              .WithConstraint(bad)
                              .WithReason(bad)
                              .WithLimit(bad, 1);
  EXPECT_EQ(ToWireStatus(error).message, "a?\"?");
  EXPECT_EQ(FindInvalidUtf8(ToWireStatus(error).details), std::string_view::npos);  // the tags and sizes are ASCII here
  EXPECT_EQ(Detail<v1::SqlError>(ToWireStatus(error)).hint(), "a?\"?");
  v1::Failure failure;
  FillFailure(error, failure);
  EXPECT_EQ(FindInvalidUtf8(failure.SerializeAsString()), std::string_view::npos);
  EXPECT_EQ(FieldText(std::string(5, '\xFF'), 4), "?...");
}

}  // namespace
}  // namespace sisal::wire
