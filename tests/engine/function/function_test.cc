// What the case files cannot say: entries' properties, aggregates of two arguments, set functions, the session.
#include "sisal/function/function.h"

#include <gtest/gtest.h>

#include "sisal/testing/status_matchers.h"
#include "sisal/type/date_time.h"

namespace sisal::function {
namespace {

using enum type::TypeId;
using type::Datum;
using type::Vector;

const Function* FindFunction(std::string_view name, const std::vector<type::TypeId>& arguments) {
  for (const Function* candidate : FindFunctions(name)) {
    if (candidate->arguments == arguments) return candidate;
  }
  return nullptr;
}
const Function* FindOperator(std::string_view name, const std::vector<type::TypeId>& arguments) {
  for (const Function* candidate : FindOperators(name)) {
    if (candidate->arguments == arguments) return candidate;
  }
  return nullptr;
}

class FunctionTest : public ::testing::Test {
 protected:
  FunctionTest() {
    context_.transaction_start_micros = 1'700'000'000'123'456;
    context_.statement_start_micros = 1'700'000'000'500'000;
    context_.clock = &SystemClock();
    context_.random = &random_;
    context_.user = "ada";
    context_.server_version = "1.2";
  }
  Datum CallWithoutArguments(std::string_view name) {
    const Function* function = FindFunction(name, {});
    Vector out = type::MakeVector(function->result, 1, arena_);
    EXPECT_OK(function->kernel(Call{{}, {nullptr, 1}, 1, arena_, context_}, out));
    return out.ToDatum(0);
  }
  std::vector<Datum> Generate(const std::vector<type::TypeId>& types, const std::vector<Datum>& args, Status& status) {
    std::vector<Datum> values;
    for (const SetFunction* candidate : FindSetFunctions("generate_series")) {
      if (candidate->arguments != types) continue;
      alignas(16) char state[64] = {};
      for (uint32_t count = 1; count > 0 && status.ok();) {
        Arena arena;  // as a scan that forgets each chunk before the next
        Vector out = type::MakeVector(candidate->result, type::kVectorSize, arena);
        count = 0;
        status = candidate->next(context_, args, state, arena, out, count);
        for (uint32_t row = 0; row < count; ++row) values.push_back(out.ToDatum(row));
      }
    }
    return values;
  }

  Arena arena_;
  LazyRandom random_{7};
  Context context_;
};

TEST_F(FunctionTest, NoTwoOverloadsTakeTheSameArguments) {
  for (const std::string_view name : {"+", "-", "*", "/", "=", "<", "||", "~~", "%", "^"}) {
    const auto overloads = FindOperators(name);
    EXPECT_FALSE(overloads.empty()) << name;
    for (const Function* a : overloads) {
      for (const Function* b : overloads) EXPECT_TRUE(a == b || a->arguments != b->arguments) << name;
    }
  }
}

TEST_F(FunctionTest, UnknownNamesHaveNoOverloads) {
  EXPECT_TRUE(FindFunctions("no_such_function").empty());
  EXPECT_TRUE(FindOperators("<=>").empty());
  EXPECT_EQ(FindCast(kUuid, kInteger), nullptr);
}

TEST_F(FunctionTest, EveryTypeHasTheComparisonOperators) {
  for (const type::TypeId id : {kBoolean, kSmallint, kInteger, kBigint, kReal, kDouble, kNumeric, kText, kChar, kBytea,
                                kDate, kTime, kTimestamp, kTimestampTz, kInterval, kUuid}) {
    for (const std::string_view name : {"=", "<>", "<", "<=", ">", ">="}) {
      const Function* entry = FindOperator(name, {id, id});
      ASSERT_NE(entry, nullptr) << name << " of " << type::TypeName(id);
      EXPECT_EQ(entry->result, kBoolean);
      EXPECT_TRUE(entry->strict);
    }
  }
}

TEST_F(FunctionTest, CastsApplyInPostgresContexts) {
  EXPECT_EQ(FindCast(kInteger, kBigint)->context, CastContext::kImplicit);
  EXPECT_EQ(FindCast(kBigint, kInteger)->context, CastContext::kAssignment);
  EXPECT_EQ(FindCast(kNumeric, kDouble)->context, CastContext::kImplicit);
  EXPECT_EQ(FindCast(kDouble, kNumeric)->context, CastContext::kAssignment);
  EXPECT_EQ(FindCast(kInteger, kText)->context, CastContext::kAssignment);
  EXPECT_EQ(FindCast(kText, kInteger)->context, CastContext::kExplicit);
  EXPECT_EQ(FindCast(kInteger, kBoolean)->context, CastContext::kExplicit);
  EXPECT_EQ(FindCast(kVarchar, kText)->kernel, nullptr);
}

TEST_F(FunctionTest, VolatilityTellsWhatMayBeComputedOnce) {
  EXPECT_EQ(FindFunction("random", {})->volatility, Volatility::kVolatile);
  EXPECT_EQ(FindFunction("now", {})->volatility, Volatility::kStable);
  EXPECT_EQ(FindFunction("lower", {kText})->volatility, Volatility::kImmutable);
  EXPECT_EQ(FindCast(kTimestamp, kTimestampTz)->volatility, Volatility::kStable);
}

TEST_F(FunctionTest, TheSessionIsTheContexts) {
  EXPECT_EQ(CallWithoutArguments("now").as_int(), 1'700'000'000'123'456);
  EXPECT_EQ(CallWithoutArguments("statement_timestamp").as_int(), 1'700'000'000'500'000);
  EXPECT_EQ(CallWithoutArguments("current_date").as_int(), 19'675);
  EXPECT_EQ(CallWithoutArguments("localtime").as_int(), 80'000'123'456);
  EXPECT_EQ(CallWithoutArguments("current_user").as_bytes(), "ada");
  EXPECT_EQ(CallWithoutArguments("version").as_bytes(), "Sisal 1.2");
}

TEST_F(FunctionTest, LocalTimeFollowsTheTimeZone) {
  context_.text.time_zone_offset_seconds = 2 * 3600;
  EXPECT_EQ(CallWithoutArguments("current_date").as_int(), 19'676);  // 22:13 UTC
}

TEST_F(FunctionTest, RandomUuidsAreOfVersion4) {
  const std::string first = CallWithoutArguments("gen_random_uuid").as_bytes();
  ASSERT_EQ(first.size(), 16u);
  EXPECT_EQ(first[6] & 0xF0, 0x40);
  EXPECT_EQ(first[8] & 0xC0, 0x80);
  EXPECT_NE(CallWithoutArguments("gen_random_uuid").as_bytes(), first);
}

TEST_F(FunctionTest, DenseRowsOverflowAnywhereInTheVector) {
  const Function* plus = FindOperator("+", {kInteger, kInteger});
  for (const uint32_t bad : {0u, 1000u, type::kVectorSize - 1}) {
    Vector a = type::MakeVector(kInteger, type::kVectorSize, arena_);
    Vector b = type::MakeVector(kInteger, type::kVectorSize, arena_);
    for (uint32_t row = 0; row < type::kVectorSize; ++row) a.ints[row] = b.ints[row] = row;
    Vector out = type::MakeVector(kInteger, type::kVectorSize, arena_);
    const Vector args[] = {a, b};
    const Call call{args, {nullptr, type::kVectorSize}, type::kVectorSize, arena_, context_};
    ASSERT_OK(plus->kernel(call, out));
    EXPECT_EQ(out.ints[bad], 2 * static_cast<int64_t>(bad));
    a.ints[bad] = INT32_MAX;
    b.ints[bad] = 1;
    EXPECT_SQLSTATE(plus->kernel(call, out), "22003");
  }
}

TEST_F(FunctionTest, RowsThatAreNotSelectedCauseNoError) {
  const Function* divide = FindOperator("/", {kInteger, kInteger});
  const Vector a = MakeConstant(kInteger, Datum::Int(10), arena_);
  Vector b = type::MakeVector(kInteger, 3, arena_);
  b.ints[0] = 0;
  b.ints[1] = 5;
  b.ints[2] = 0;
  Vector out = type::MakeVector(kInteger, 3, arena_);
  const Vector args[] = {a, b};
  const uint16_t selected[] = {1};
  ASSERT_OK(divide->kernel(Call{args, {selected, 1}, 3, arena_, context_}, out));
  EXPECT_EQ(out.ints[1], 2);
  EXPECT_SQLSTATE(divide->kernel(Call{args, {nullptr, 3}, 3, arena_, context_}, out), "22012");
}

TEST_F(FunctionTest, StringAggSkipsNullValuesAndKeepsOrderInMerges) {
  const Aggregate* string_agg = FindAggregates("string_agg")[0];
  EXPECT_TRUE(string_agg->ordered_input);
  Vector values = type::MakeVector(kText, 4, arena_);
  Vector delimiters = type::MakeVector(kText, 4, arena_);
  type::EnsureNulls(values, 4, arena_);
  type::EnsureNulls(delimiters, 4, arena_);
  const std::string_view texts[] = {"a", "b", "c", "d"};
  for (uint32_t row = 0; row < 4; ++row) {
    values.bytes[row] = texts[row];
    delimiters.bytes[row] = ", ";
  }
  values.SetNull(0);
  delimiters.SetNull(3);
  const Vector args[] = {values, delimiters};
  alignas(16) char states[2][64] = {};
  ASSERT_LE(string_agg->state_bytes, 64u);
  const std::vector<char*> targets{states[0], states[0], states[1], states[1]};
  ASSERT_OK(string_agg->update(Call{args, {nullptr, 4}, 4, arena_, context_}, targets));
  ASSERT_OK(string_agg->merge(states[1], states[0], arena_));
  Vector out = type::MakeVector(kText, 1, arena_);
  type::EnsureNulls(out, 1, arena_);
  ASSERT_OK(string_agg->finish(states[0], 0, out, arena_));
  EXPECT_EQ(out.Bytes(0), "b, cd");
}

TEST_F(FunctionTest, CountStarHasNoArguments) {
  for (const Aggregate* count : FindAggregates("count")) {
    if (!count->arguments.empty()) continue;
    alignas(16) char state[16] = {};
    std::vector<char*> states(5, state);
    ASSERT_OK(count->update(Call{{}, {nullptr, 5}, 5, arena_, context_}, states));
    Vector out = type::MakeVector(kBigint, 1, arena_);
    ASSERT_OK(count->finish(state, 0, out, arena_));
    EXPECT_EQ(out.ints[0], 5);
    return;
  }
  FAIL() << "no count(*)";
}

TEST_F(FunctionTest, SeriesOfIntegers) {
  Status status;
  EXPECT_EQ(Generate({kInteger, kInteger}, {Datum::Int(1), Datum::Int(5000)}, status).size(), 5000u);
  EXPECT_EQ(Generate({kInteger, kInteger, kInteger}, {Datum::Int(5), Datum::Int(1), Datum::Int(-2)}, status),
            (std::vector{Datum::Int(5), Datum::Int(3), Datum::Int(1)}));
  EXPECT_TRUE(Generate({kBigint, kBigint}, {Datum::Int(2), Datum::Int(1)}, status).empty());
  EXPECT_OK(status);
  Generate({kBigint, kBigint, kBigint}, {Datum::Int(1), Datum::Int(2), Datum::Int(0)}, status);
  EXPECT_SQLSTATE(status, "22023");
}

TEST_F(FunctionTest, SeriesEndAtTheTypesLimit) {
  Status status;
  EXPECT_EQ(Generate({kInteger, kInteger}, {Datum::Int(INT32_MAX - 1), Datum::Int(INT32_MAX)}, status).size(), 2u);
  EXPECT_EQ(Generate({kBigint, kBigint}, {Datum::Int(INT64_MAX - 1), Datum::Int(INT64_MAX)}, status).size(), 2u);
  EXPECT_OK(status);
}

TEST_F(FunctionTest, SeriesOfNumericsCrossChunks) {
  Status status;
  const auto numeric = [&](std::string_view text) { return *ParseText(kNumeric, text, context_.text); };
  const std::vector<Datum> values =
      Generate({kNumeric, kNumeric, kNumeric}, {numeric("0"), numeric("300"), numeric("0.1")}, status);
  EXPECT_OK(status);
  ASSERT_EQ(values.size(), 3001u);
  EXPECT_EQ(FormatText(kNumeric, values.back(), context_.text), "300.0");
}

TEST_F(FunctionTest, SeriesOfTimestampsClampMonths) {
  Status status;
  const auto parse = [&](type::TypeId id, std::string_view text) { return *ParseText(id, text, context_.text); };
  const std::vector<Datum> values =
      Generate({kTimestamp, kTimestamp, kInterval},
               {parse(kTimestamp, "2023-01-31"), parse(kTimestamp, "2023-04-01"), parse(kInterval, "1 month")}, status);
  EXPECT_OK(status);
  EXPECT_EQ(values, (std::vector{parse(kTimestamp, "2023-01-31"), parse(kTimestamp, "2023-02-28"),
                                 parse(kTimestamp, "2023-03-28")}));
}

}  // namespace
}  // namespace sisal::function
